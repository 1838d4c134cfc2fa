import type { Who } from '../administration/accounts.js'
import type { DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'

/** Names a person by the `sub` in the audit log. */
export interface PersonOptions extends DeploymentOptions {
  readonly sub: string
  readonly json?: true
}

/**
 * Names a person: an account by its username, or any person by `sub`, whichever method signs that person in. A
 * command gets exactly one of the two.
 */
export interface WhoOptions extends DeploymentOptions {
  readonly username?: string
  readonly sub?: string
  readonly json?: true
}

export const whoOf = ({ username = '', sub }: Pick<WhoOptions, 'username' | 'sub'>): Who =>
  sub === undefined ? { username } : { sub }

/** Says that no account has the username. */
export const noSuchPerson = (): CommandFailed =>
  new CommandFailed('There is no such account. People of other sign-in methods have --sub.')

export interface ClientOfPersonOptions extends PersonOptions {
  readonly client?: string
}

/** Formats a count as people write it: `1 session`, `2 sessions`. */
export const counted = (count: number, what: string): string => `${String(count)} ${what}${count === 1 ? '' : 's'}`
