import { epochSeconds, type Clock } from '../../clock.js'
import { isSameText } from '../../oauth/same-text.js'
import { findAuthTime, signInOf } from '../../oauth/subjects/subject-end.js'
import { hashOpaqueToken, newOpaqueToken } from '../../opaque-token.js'
import type { RecordStore, RevocationStore } from '../../storage/ports.js'

/** What is stored of the link of a person. There is one at a time: another one takes its place. */
export interface RecoveryLink {
  readonly subject: string
  /** Names the link and what is done with it in the audit log. Public. */
  readonly id: string
  /** Hash of the secret in the link. */
  readonly hash: string
  /** Seconds since the epoch: an end of the subject after it ends the link, as it ends sign-ins. */
  readonly issuedAt: number
  /** For password managers and authenticator apps. */
  readonly username?: string
  readonly used?: true
}

/** What is at a link. `why` is for the audit log alone. */
export type FoundLink =
  | { readonly outcome: 'good'; readonly link: RecoveryLink }
  /** `subject`: the secret is right, and comes late. */
  | { readonly outcome: 'refused'; readonly why: string; readonly subject?: string }

/** Links with which people who have lost what they sign in with set it up again. Everything throws `Unavailable`. */
export interface RecoveryLinks {
  /** The value that the link has, which nothing else knows. A link that the person had is good for nothing from here on. */
  issue(
    person: { readonly subject: string; readonly id: string; readonly username?: string },
    ttlSeconds: number,
  ): Promise<string>
  /** Uses nothing up. */
  find(value: string): Promise<FoundLink>
  /** Uses a link up in one atomic step: of N callers, in any number of processes, one gets true. */
  redeem(value: string): Promise<boolean>
}

/** Seconds for which a link is good at the most. */
export const longestLink = 86_400

/** The address of a link: its value is in the query, which no log of ours has. */
export const recoveryUrl = (issuer: string, value: string): string => `${issuer}/recovery?link=${value}`

const form = /^([\w-]{43})\.([\w-]{43})$/

interface LinksOptions {
  readonly store: RecordStore<RecoveryLink>
  readonly revocations: Pick<RevocationStore, 'isRevoked' | 'endedBefore'>
  readonly clock: Clock
}

/**
 * `auth_time` of what begins now, whatever has ended before. Seconds since the epoch. Throws `Unavailable`.
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
    // By the person: the link before it is overwritten in the same step.
    await store.put(hashOpaqueToken(subject), link, { ttlSeconds })
    return `${hashOpaqueToken(subject)}.${secret}`
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
      // Kept, so that the audit log can say why it is refused from here on.
      return { result: true, write: { record: { ...current, used: true }, expiresAt } }
    })
  },
})
