import { epochSeconds, type Clock } from '../../clock.js'
import { isSameText } from '../../oauth/same-text.js'
import { findAuthTime, signInOf } from '../../oauth/subjects/subject-end.js'
import { hashOpaqueToken, newOpaqueToken } from '../../opaque-token.js'
import type { RecordStore, RevocationStore } from '../../storage/ports.js'

/** The stored part of a person's recovery link. Each person has at most one; a new one replaces it. */
export interface RecoveryLink {
  readonly subject: string
  /** Identifies the link, and what is done with it, in the audit log. It is public. */
  readonly id: string
  /** The hash of the secret in the link. */
  readonly hash: string
  /** This is in seconds since the epoch. A later end of the subject also ends the link, as it ends sign-ins. */
  readonly issuedAt: number
  /** The username for password managers and authenticator apps. */
  readonly username?: string
  readonly used?: true
}

/** The result of looking up a link. `why` is for the audit log only. */
export type FoundLink =
  | { readonly outcome: 'good'; readonly link: RecoveryLink }
  /** `subject` is present when the secret is right but too late. */
  | { readonly outcome: 'refused'; readonly why: string; readonly subject?: string }

/**
 * Links with which people who have lost their means of signing in set them up again. Every member throws
 * `Unavailable`.
 */
export interface RecoveryLinks {
  /**
   * Returns the value of the link, which is stored nowhere else. The previous link of the person is invalid from now
   * on.
   */
  issue(
    person: { readonly subject: string; readonly id: string; readonly username?: string },
    ttlSeconds: number,
  ): Promise<string>
  /** Looks up a link without using it up. */
  find(value: string): Promise<FoundLink>
  /** Uses up a link in one atomic step: of N callers, in any number of processes, one gets true. */
  redeem(value: string): Promise<boolean>
}

/** The longest validity of a link, in seconds. */
export const longestLink = 86_400

/** Returns the URL of a link. Its value is in the query, which our logs never contain. */
export const recoveryUrl = (issuer: string, value: string): string => `${issuer}/recovery?link=${value}`

/** The record of a person's link. */
export const recoveryLinkId = (subject: string): string => hashOpaqueToken(subject)

const form = /^([\w-]{43})\.([\w-]{43})$/

interface LinksOptions {
  readonly store: RecordStore<RecoveryLink>
  readonly revocations: Pick<RevocationStore, 'isRevoked' | 'endedBefore'>
  readonly clock: Clock
}

/**
 * Returns the `auth_time` of what begins now, regardless of what has ended before, in seconds since the epoch. Throws
 * `Unavailable`.
 */
export const beginsNow = async (
  revocations: Pick<RevocationStore, 'endedBefore'>,
  subject: string,
  clock: Clock,
): Promise<number> => {
  const now = epochSeconds(clock)
  return (await findAuthTime(revocations, subject, Number.MAX_SAFE_INTEGER, now)) ?? now
}

export const createRecoveryLinks = ({ store, revocations, clock }: LinksOptions): RecoveryLinks => ({
  async issue({ subject, id, username }, ttlSeconds) {
    const secret = newOpaqueToken()
    const issuedAt = await beginsNow(revocations, subject, clock)
    const link = { subject, id, hash: hashOpaqueToken(secret), issuedAt, ...(username !== undefined && { username }) }
    // The record is stored by person, so that the same step overwrites the previous link.
    await store.put(recoveryLinkId(subject), link, { ttlSeconds })
    return `${recoveryLinkId(subject)}.${secret}`
  },
  async find(value) {
    const [, handle, secret] = form.exec(value) ?? []
    if (handle === undefined || secret === undefined) return { outcome: 'refused', why: 'the link is malformed' }
    const link = await store.find(handle)
    if (link === undefined) return { outcome: 'refused', why: 'the link is unknown or over' }
    const { subject, issuedAt } = link
    if (!isSameText(link.hash, hashOpaqueToken(secret)))
      return { outcome: 'refused', why: 'the link is not the last one of the person' }
    if (link.used) return { outcome: 'refused', why: 'the link was used', subject }
    if (await revocations.isRevoked([], signInOf(subject, issuedAt)))
      return { outcome: 'refused', why: 'the link ended with all that the person had', subject }
    return { outcome: 'good', link }
  },
  async redeem(value) {
    const [, handle = '', secret = ''] = form.exec(value) ?? []
    if (handle === '') return false
    const hash = hashOpaqueToken(secret)
    return store.update<boolean>(handle, (current, expiresAt) => {
      if (current === undefined || current.used || !isSameText(current.hash, hash)) return { result: false }
      // The record is kept so that the audit log can say why the link is refused from now on.
      return { result: true, write: { record: { ...current, used: true }, expiresAt } }
    })
  },
})
