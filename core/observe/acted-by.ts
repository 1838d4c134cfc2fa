import { hostname, userInfo } from 'node:os'
import { env, getuid } from 'node:process'
import type { JsonObject } from '../json.js'

/** How an operator reached Signet: a command on the host, a signal, the admin listener, or the start of the process. */
export type ActedVia = 'command' | 'sighup' | 'http' | 'start'

/**
 * Who made a change, as the audit log has it in `by`. Nothing here is verified: the process itself or its caller says so.
 * `address` is that of the peer of the admin listener.
 */
export interface ActedBy extends JsonObject {
  readonly via: ActedVia
}

/** A user that the system does not know by name, as in many containers, has a number. */
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

/** Names of members that a caller may say of itself. */
const claimed = ['os_user', 'sudo_user', 'host', 'address'] as const
const mostCharacters = 256

/**
 * What the caller of the admin listener says of itself in a form (`via=command&os_user=…`). `address` is that of the peer, `unix`
 * for a unix socket; any other takes the place of one that is claimed. Undefined for a form that no caller of ours sends.
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
  if (said.some(([, value]) => value === '' || value.length > mostCharacters)) return undefined
  // Only the peer on a unix socket may be a process that passes on what it was asked itself.
  return { via, ...Object.fromEntries(said), ...(address !== 'unix' && { address }) }
}

/** As `readActedBy` reads it. */
export const writeActedBy = (by: ActedBy): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(by).flatMap(([name, value]) => (typeof value === 'string' ? [[name, value]] : [])))
