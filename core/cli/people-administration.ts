import type { z } from 'zod'
import type {
  shownConsent,
  shownCopy,
  shownFactor,
  shownFactorsAfter,
  shownGrant,
  shownPerson,
  shownSession,
} from '../admin-api/people-documents.js'
import type {
  AccountRefusal,
  AccountUpdate,
  ChangedAccount,
  InvalidAccount,
  WrittenAccount,
} from '../administration/account-changes.js'
import type { Who } from '../administration/accounts.js'
import type { Refusal } from '../administration/administration.js'
import type { ErasedPerson } from '../administration/person-erasure.js'
import type { Ended } from '../administration/sessions.js'

export type ShownPerson = z.output<typeof shownPerson>
export type ShownFactor = z.output<typeof shownFactor>
export type ShownFactorsAfter = z.output<typeof shownFactorsAfter>

export interface RecoveryLink {
  readonly sub: string
  readonly recovery: string
  readonly link: string
  readonly expires_at: string
  /** False: no account has the subject here, though a plugin may know one. */
  readonly isKnown: boolean
}

interface EndedCounts {
  readonly sessions: number
  readonly grants: number
  readonly consents: number
}

/**
 * What commands do with people and what they have opened, on the stores of a deployment or through the admin API of a
 * service. Both answer with the documents of the API. Everything throws `Unavailable` or `CommandFailed` in an outage.
 */
export interface PeopleAdministration {
  list(filter: { readonly method?: string | undefined }): Promise<readonly ShownPerson[]>
  find(who: Who): Promise<ShownPerson | Refusal<'unknown'>>
  update(
    username: string,
    update: AccountUpdate,
  ): Promise<
    | WrittenAccount
    | AccountRefusal
    | InvalidAccount
    | Refusal<'empty' | 'both' | 'taken' | 'username_taken' | 'changed_meanwhile'>
  >
  setDisabled(username: string, disabled: boolean): Promise<(ChangedAccount & ShownFactorsAfter) | Refusal<'unknown'>>
  recover(who: Who, expiresIn: number): Promise<RecoveryLink | Refusal<'off' | 'too_long' | 'unknown' | 'disabled'>>
  listFactors(who: Who): Promise<readonly ShownFactor[] | Refusal<'unknown'>>
  removeFactor(who: Who, factor: string): Promise<ShownFactor | Refusal<'unknown' | 'factor'>>
  end(sub: string, removeFactors: boolean): Promise<{ readonly known: boolean } & EndedCounts & ShownFactorsAfter>
  erase(sub: string): Promise<ErasedPerson | Refusal<'unknown' | 'configured'>>
  copy(sub: string): Promise<z.output<typeof shownCopy> | Refusal<'unknown'>>
  listSessions(sub: string): Promise<readonly z.output<typeof shownSession>[]>
  endSessions(sub: string, sid?: string): Promise<readonly string[] | Refusal<'unknown'>>
  endAllSessions(): Promise<Ended>
  endSessionsAt(clientId: string): Promise<Ended | Refusal<'no_logout_uri'>>
  listGrants(sub: string): Promise<readonly z.output<typeof shownGrant>[]>
  revokeGrant(grantId: string): Promise<{ readonly isKnown: boolean } | Refusal<'malformed'>>
  revokeGrantsOf(sub: string, clientId?: string): Promise<readonly string[]>
  listConsents(sub: string): Promise<readonly z.output<typeof shownConsent>[]>
  revokeConsents(sub: string, clientId?: string): Promise<readonly string[] | Refusal<'unknown'>>
}
