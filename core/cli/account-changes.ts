import type { Config } from '../../config/schema.js'
import { findUpdateFault, removeAccount, setPassword, type ChangedAccount } from '../administration/account-changes.js'
import { findConfiguredAccount } from '../administration/accounts.js'
import { isRefusal } from '../administration/administration.js'
import { createPasswordHasher } from '../interaction/password-hasher.js'
import type { JsonObject } from '../json.js'
import { describeFactorsAfter } from '../admin-api/people-documents.js'
import { factorsInJson, printFactorsAfter } from './account-factors.js'
import { alreadyConfigured, printClaimWarnings, usernameTaken, type AccountOptions } from './accounts.js'
import { administer, readDeployment } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { askPassword, readPassword } from './password.js'
import { openPeople } from './open-people.js'
import type { ShownFactorsAfter } from './people-administration.js'
import { counted, whoOf, type WhoOptions } from './person.js'

const refusals = {
  configured: 'This account is in the configuration: change it there, and reload.',
  unknown: 'There is no such account in the store.',
  changed_meanwhile: 'The account was changed meanwhile. Repeat the command.',
} as const

/** Implements `signet accounts remove`. */
export const removeWhom = async (options: WhoOptions): Promise<void> => {
  const config = await readDeployment(options)
  const removed = await administer(config, (administration, by) => removeAccount(administration, by, whoOf(options)))
  if (isRefusal(removed))
    throw new CommandFailed(
      removed.refused === 'unknown' && options.sub !== undefined
        ? 'This subject has no account here, and no factors.'
        : refusals[removed.refused],
    )
  if (removed.username !== undefined)
    return report(`Removed ${options.username ?? removed.username}`, removed, 'removed', options)
  const { sub, method, factors } = removed
  if (options.json) return printJson({ sub, ...(method !== undefined && { method }), factors, state: 'removed' })
  print(method === undefined ? `Removed ${counted(factors, 'factor')} of ${sub}` : `Removed ${sub} (${method})`)
}

export interface SetPasswordOptions extends AccountOptions {
  readonly passwordStdin?: true
  /** Also removes passkeys, the authenticator app and recovery codes. */
  readonly factors?: true
}

/** Implements `signet accounts set-password`. The password comes from the terminal or standard input, never from the arguments. */
export const setPasswordOf = async (username: string, options: SetPasswordOptions): Promise<void> => {
  const config = await readDeployment(options)
  // This check comes before the prompt, so that no password is typed in vain.
  demandChangeable(config, username)
  const password = await (options.passwordStdin ? readPassword() : askPassword())
  const input = { username, password, hasher: createPasswordHasher(), removeFactors: options.factors === true }
  const changed = await administer(config, (administration, by) => setPassword(administration, by, input))
  if (isRefusal(changed))
    throw new CommandFailed(changed.refused === 'invalid' ? changed.reason : refusals[changed.refused])
  report(
    `Changed the password of ${username}`,
    changed,
    'password_changed',
    options,
    describeFactorsAfter(changed.factors),
  )
}

const demandChangeable = (config: Config, username: string): void => {
  if (findConfiguredAccount(config, username) !== undefined) throw new CommandFailed(refusals.configured)
}

/** Implements `signet accounts disable` and `enable`. */
export const setDisabledOf = async (username: string, disabled: boolean, options: AccountOptions): Promise<void> => {
  const people = await openPeople(options)
  const changed = await people.setDisabled(username, disabled)
  if (isRefusal(changed)) throw new CommandFailed(refusals[changed.refused])
  const [sentence, state] = disabled ? [`Disabled ${username}`, 'disabled'] : [`Enabled ${username}`, 'enabled']
  report(sentence, changed, state, options, changed)
}

export interface UpdateAccountOptions extends AccountOptions {
  readonly claim?: JsonObject
  readonly unset?: readonly string[]
  readonly username?: string
}

const notUpdated = {
  ...refusals,
  empty: 'There is nothing to change: see --help.',
  both: 'A claim is either set or unset.',
  taken: alreadyConfigured,
  username_taken: usernameTaken,
  changed_meanwhile: 'The account was changed by somebody else meanwhile. Try again.',
} as const

/** Implements `signet accounts update`. */
export const updateAccountOf = async (username: string, options: UpdateAccountOptions): Promise<void> => {
  const { claim: claims = {}, unset = [], username: next } = options
  const update = { claims, unset, ...(next !== undefined && { username: next }) }
  const fault = findUpdateFault(update)
  if (fault !== undefined) throw new CommandFailed(notUpdated[fault])
  const people = await openPeople(options)
  const changed = await people.update(username, update)
  if (isRefusal(changed))
    throw new CommandFailed(changed.refused === 'invalid' ? changed.reason : notUpdated[changed.refused])
  printClaimWarnings(changed.warnings)
  report(`Updated ${changed.username}`, changed, 'updated', options)
}

const report = (
  sentence: string,
  { username, sub }: ChangedAccount,
  state: string,
  { json }: AccountOptions,
  after?: ShownFactorsAfter,
): void => {
  if (json) return printJson({ username, sub, state, ...(after && factorsInJson(after)) })
  print(sentence)
  if (after) printFactorsAfter(after, `signet people end --sub ${sub}`)
}
