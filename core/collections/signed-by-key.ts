import type { Config } from '../../config/schema.js'
import { revokeEntries } from '../attestation/status-list/token-status.js'
import type { EndingKey } from '../keys/slots/end-signed.js'
import type { SignedEnd } from '../keys/slots/slot.js'
import type { AuditLog } from '../observe/audit.js'
import type { NotifyClients } from '../oauth/back-channel/notify-clients.js'
import { findEnded } from '../oauth/subjects/subject-end.js'
import type { RecordStore } from '../storage/ports.js'
import type { Collections } from './collections.js'
import { endSubjectOf } from './person-records.js'

export interface SignedByKeyOptions {
  readonly kept: Collections
  readonly config: () => Config
  readonly audit: AuditLog
  readonly notifyClients: NotifyClients
}

/** Records of one page. Each costs a few writes to the store. */
const pageSize = 200

const stages = { grants: 'sessions', sessions: 'attestations', attestations: 'over', over: 'over' } as const

/** The progress after a page, which is the next stage after the last page of one. */
const after = (
  { stage, people, attestations }: SignedEnd,
  page: readonly { readonly id: string }[],
  ended: Partial<SignedEnd>,
): SignedEnd => {
  const last = page.at(-1)?.id
  const counts = { people, attestations, ...ended }
  return last === undefined || page.length < pageSize
    ? { ...counts, stage: stages[stage] }
    : { ...counts, stage, after: last }
}

/**
 * Ends a page of what a compromised key has signed: everything that sign-ins before its withdrawal have opened, if it
 * signed tokens of people, and the attestations of its time. Sign-ins and attestations after the withdrawal stay.
 */
export const createEndPage = ({ kept, config, audit, notifyClients }: SignedByKeyOptions) => {
  /** Ends the people in this page who have not been ended since. Returns how many. */
  const endPeople = async (
    { kid, ended_at: withdrawn = 0 }: EndingKey,
    page: readonly { readonly record: { readonly subject: string; readonly authTime: number } }[],
  ): Promise<number> => {
    const end = endSubjectOf(kept, config(), () => withdrawn, notifyClients)
    let people = 0
    for (const { record } of page) {
      if (record.authTime * 1000 > withdrawn) continue
      if ((await findEnded(kept.revocations, record.subject))(record.authTime)) continue
      // Recorded first: an end is not repeated, so it could not be recorded later.
      await audit.record({ event: 'subject.ended', sub: record.subject, reason: 'a key was compromised', kid })
      await end(record.subject)
      people++
    }
    return people
  }

  const endPeopleIn = async (
    key: EndingKey,
    store: RecordStore<{ readonly subject: string; readonly authTime: number }>,
  ): Promise<SignedEnd> => {
    const { ending, purposes } = key
    const signsForPeople = purposes.includes('access_token') || purposes.includes('id_token')
    const page = signsForPeople ? await store.list(ending.after, pageSize) : []
    return after(ending, page, { people: ending.people + (await endPeople(key, page)) })
  }

  const endAttestations = async (key: EndingKey): Promise<SignedEnd> => {
    const { ending, purposes, not_before: from = 0, ended_at: until = 0 } = key
    const { statusListEntries: entries, statusListBits: bits } = kept
    const page = purposes.includes('attestation') ? await entries.list(ending.after, pageSize) : []
    // An entry of an earlier version does not say when it was made.
    const signed = page.filter(({ record: { at } }) => at === undefined || (at >= from && at <= until))
    await revokeEntries({ entries, bits }, signed)
    return after(ending, page, { attestations: ending.attestations + signed.length })
  }

  return (key: EndingKey): Promise<SignedEnd> => {
    switch (key.ending.stage) {
      case 'grants':
        return endPeopleIn(key, kept.grantIndex)
      case 'sessions':
        return endPeopleIn(key, kept.sessionIndex)
      case 'attestations':
        return endAttestations(key)
      case 'over':
        return Promise.resolve(key.ending)
    }
  }
}
