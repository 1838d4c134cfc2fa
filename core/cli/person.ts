import type { Change, DeploymentOptions } from './deployment.js'

/** Names a person, by the `sub` that the audit log has. */
export interface PersonOptions extends DeploymentOptions {
  readonly sub: string
  readonly json?: true
}

export interface ClientOfPersonOptions extends PersonOptions {
  readonly client?: string
}

/** `1 session`, `2 sessions`. */
export const counted = (count: number, what: string): string => `${String(count)} ${what}${count === 1 ? '' : 's'}`

/** A change of what a person has, as the audit log has it; `more` says which part of it. */
export const personChange = (
  action: string,
  { sub }: PersonOptions,
  more: Readonly<Record<string, string | undefined>> = {},
): Change => {
  const given = Object.entries(more).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const]))
  return { action, sub, ...Object.fromEntries(given) }
}
