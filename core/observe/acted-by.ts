import { hostname, userInfo } from 'node:os'
import { env, getuid } from 'node:process'
import type { JsonObject } from '../json.js'

/**
 * How an operator reached Signet: a command on the host, a signal, the start of the process, or the admin listener:
 * its API, its console, or another route.
 */
export type ActedVia = 'command' | 'sighup' | 'start' | 'http' | 'api' | 'console'

/**
 * Who made a change, as recorded in `by` of the audit log. With `api` and `console`, `operator` has authenticated by
 * `proof`; otherwise nothing here is verified: the process itself or its caller states it. `address` is the peer of
 * the admin listener.
 */
export interface ActedBy extends JsonObject {
  readonly via: ActedVia
}

/** A user without a name on this system, as in many containers, is given by number. */
const osUser = (): string => {
  try {
    return userInfo().username
  } catch {
    return `uid ${String(getuid?.() ?? '')}`
  }
}

/** The user of this process on this host. */
export const actedHere = (via: ActedVia): ActedBy => ({
  via,
  os_user: osUser(),
  ...(env['SUDO_USER'] && { sudo_user: env['SUDO_USER'] }),
  host: hostname(),
})

/** Members that a caller may state about itself. */
const claimed = ['os_user', 'sudo_user', 'host', 'address'] as const
const maxCharacters = 256

/**
 * What the caller of the admin listener states about itself in a form (`via=command&os_user=…`). `address` is the
 * peer's, `unix` for a unix socket; any other replaces a claimed one. Undefined for a form that none of our callers
 * sends.
 */
export const readActedBy = (
  values: Readonly<Partial<Record<string, string | undefined>>>,
  address: string,
): ActedBy | undefined => {
  const via = values['via'] ?? 'http'
  if (via !== 'command' && via !== 'sighup' && via !== 'http') return undefined
  const said = claimed.flatMap((name) => {
    const value = values[name]
    return value === undefined ? [] : [[name, value] as const]
  })
  if (said.some(([, value]) => value === '' || value.length > maxCharacters)) return undefined
  // Only the peer on a unix socket can be a process that relays a request it received itself.
  return { via, ...Object.fromEntries(said), ...(address !== 'unix' && { address }) }
}

/** The form that `readActedBy` reads. */
export const writeActedBy = (by: ActedBy): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(by).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])))
