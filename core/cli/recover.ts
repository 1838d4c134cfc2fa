import { isoTime } from '../clock.js'
import { collections } from '../collections/collections.js'
import { createRecoveryLinks, recoveryUrl } from '../interaction/recovery/recovery-links.js'
import { newOpaqueToken } from '../opaque-token.js'
import { readDeployment, recordChange, withStores } from './deployment.js'
import { CommandFailed } from './failure.js'
import { findPerson, whose, type WhoOptions } from './find-person.js'
import { printError, printFields, printJson } from './output.js'

export interface RecoverOptions extends WhoOptions {
  /** Seconds. */
  readonly expiresIn: number
}

/** `signet accounts recover`: prints a link this once; the store gets its hash. */
export const printRecoveryLink = async (options: RecoverOptions): Promise<void> => {
  const config = await readDeployment(options)
  if (!config.account_page) throw new CommandFailed('A recovery link leads to /account, and account_page is off.')
  // Known before the link is, so that no link is without its line.
  const id = newOpaqueToken().slice(0, 22)
  const { expiresIn } = options
  const issued = await recordChange(config, { action: 'account.recover', ...whose(options), recovery: id }, () =>
    withStores(config, async (stores) => {
      const person = await findPerson(config, stores, options)
      if (person.disabled) throw new CommandFailed('The account is disabled: enable it first.')
      const { recoveryLinks: store, revocations } = collections(stores)
      const { sub: subject, username } = person
      const expiresAt = Date.now() + expiresIn * 1000
      const value = await createRecoveryLinks({ store, revocations, clock: Date.now }).issue(
        { subject, id, ...(username !== undefined && { username }) },
        expiresIn,
      )
      return { person, value, expiresAt }
    }),
  )
  const { person, value, expiresAt } = issued
  if (person.source === undefined)
    printError('warning: no account here has this subject: the link works only if a plugin knows one')
  const [link, expires_at] = [recoveryUrl(config.issuer, value), isoTime(expiresAt)]
  if (options.json) return printJson({ sub: person.sub, recovery: id, link, expires_at })
  printFields({ sub: person.sub, recovery: id, link, expires: expires_at })
  printError('Shown only once, good once. Make sure whom you give it to: it lets them set up how this person signs in.')
}
