import { collections } from '../collections/collections.js'
import { personalRecordsIn } from '../collections/person-records.js'
import type { Consent } from '../interaction/consent.js'
import type { GrantEntry } from '../oauth/grants/grant-index.js'
import { linesAbout, type LinesAbout } from '../observe/lines-about.js'
import { recoveryLinkId } from '../interaction/recovery/recovery-links.js'
import { findPerson, type FoundPerson } from './accounts.js'
import { change, type Administration, type Operator, type Refusal } from './administration.js'
import { factorsOf, type ListedFactor } from './factors.js'
import { listPrincipals, type ListedPrincipal } from './principals.js'
import { listSessions, type ListedSession } from './sessions.js'

/** A copy for a person of all their data in this deployment, without secrets (GDPR article 15). */
export interface PersonCopy {
  readonly person: FoundPerson
  readonly factors: readonly ListedFactor[]
  readonly sessions: readonly ListedSession[]
  readonly grants: readonly GrantEntry[]
  readonly consents: readonly Consent[]
  readonly devices: readonly ListedPrincipal[]
  /** The time at which a recovery link that is still valid was issued, in seconds since the epoch. */
  readonly recoveryIssuedAt?: number
  /** Absent: the audit log is not a file of this host. */
  readonly audit?: LinesAbout
}

/** Limits for reading the audit log for a copy. */
export interface CopyLimits {
  readonly maxBytes: number
  readonly maxLines: number
}

const collect = async <T>(all: AsyncIterable<T>): Promise<readonly T[]> => {
  const found: T[] = []
  for await (const one of all) found.push(one)
  return found
}

/** Copies what is stored of a person. `unknown`: nothing is. The audit log records it. Throws `Unavailable`. */
export const copyPerson = (
  administration: Administration,
  by: Operator,
  { sub, limits }: { readonly sub: string; readonly limits: CopyLimits },
): Promise<PersonCopy | Refusal<'unknown'>> => {
  const { config, stores, clock } = administration
  return change(administration, by, { action: 'person.export', sub }, async () => {
    const person = await findPerson(administration, { sub })
    if ('refused' in person) return person
    const records = personalRecordsIn(stores, config, clock)
    const [factors, sessions, grants, consents, devices] = await Promise.all([
      factorsOf(administration, sub),
      listSessions(administration, sub),
      records.listGrants(sub),
      records.listConsents(sub),
      collect(listPrincipals(administration, { subject: sub })),
    ])
    const isKnown =
      person.source !== undefined || [factors, sessions, grants, consents, devices].some((all) => all.length > 0)
    if (!isKnown) return { refused: 'unknown' }
    const link = await collections(stores).recoveryLinks.find(recoveryLinkId(sub))
    return {
      ...{ person, factors, sessions, grants, consents, devices },
      ...(link !== undefined && { recoveryIssuedAt: link.issuedAt }),
      ...(config.audit !== 'stdout' && {
        audit: await linesAbout(config.audit.file, { sub, username: person.username }, limits),
      }),
    }
  })
}
