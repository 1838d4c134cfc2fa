import { collections } from '../collections/collections.js'
import { createRecoveryLinks, longestLink, recoveryUrl } from '../interaction/recovery/recovery-links.js'
import { newOpaqueToken } from '../opaque-token.js'
import { findPerson, whose, type FoundPerson, type Who } from './accounts.js'
import { change, type Administration, type Operator, type Refusal } from './administration.js'

/**
 * A link with which a person who cannot sign in sets up a new way to. It is shown only once, because only its hash is
 * stored.
 */
export interface IssuedRecoveryLink {
  readonly person: FoundPerson
  /** The name of the link in the audit log. */
  readonly recovery: string
  readonly link: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/**
 * Issues a recovery link, which replaces the person's previous one. `off`: a link leads to /account, which this
 * deployment does not have; `too_long`: it would be valid for more than a day. `expiresIn` is in seconds. Throws
 * `Unavailable`.
 */
export const issueRecoveryLink = async (
  administration: Administration,
  by: Operator,
  { who, expiresIn }: { readonly who: Who; readonly expiresIn: number },
): Promise<IssuedRecoveryLink | Refusal<'off' | 'too_long' | 'unknown' | 'disabled'>> => {
  const { config, stores, clock } = administration
  if (!config.account_page) return { refused: 'off' }
  if (expiresIn > longestLink) return { refused: 'too_long' }
  // The id exists before the link does, so that the audit log has a line for every link.
  const id = newOpaqueToken().slice(0, 22)
  return change(administration, by, { action: 'account.recover', ...whose(who), recovery: id }, async () => {
    const person = await findPerson(administration, who)
    if ('refused' in person) return person
    if (person.disabled) return { refused: 'disabled' }
    const { recoveryLinks: store, revocations } = collections(stores)
    const { sub: subject, username } = person
    const expiresAt = clock() + expiresIn * 1000
    const value = await createRecoveryLinks({ store, revocations, clock }).issue(
      { subject, id, ...(username !== undefined && { username }) },
      expiresIn,
    )
    return { person, recovery: id, link: recoveryUrl(config.issuer, value), expiresAt }
  })
}
