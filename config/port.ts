import { isLoopbackHost, isSocketPath } from './fields.js'
import { isSection } from './extend.js'

/** The highest port that leaves a next one for the admin listener. */
export const maxPort = 65_534

const onSocket = (section: unknown): boolean =>
  isSection(section) && typeof section['host'] === 'string' && isSocketPath(section['host'])

const withPort = (section: unknown, port: number): unknown => {
  if (section === undefined) return { port }
  return isSection(section) && !onSocket(section) ? { ...section, port } : section
}

/** If there is none, the schema's default applies. */
const portOf = (listen: unknown): unknown => (isSection(listen) ? listen['port'] : undefined) ?? 3000

/**
 * Changes a configuration to another port: the admin listener gets the next one, and a local issuer that clients
 * reach on the port of `listen` moves with it.
 */
export const moveToPort = (value: unknown, port: number): unknown => {
  if (!isSection(value)) return value
  const { issuer, listen, admin } = value
  const moved = { ...value, listen: withPort(listen, port), admin: withPort(admin, port + 1) }
  if (onSocket(listen) || typeof issuer !== 'string' || !URL.canParse(issuer)) return moved
  const url = new URL(issuer)
  if (!isLoopbackHost(url.hostname) || url.port === '' || Number(url.port) !== portOf(listen)) return moved
  const path = issuer.slice(url.origin.length)
  url.port = String(port)
  return { ...moved, issuer: url.origin + path }
}
