import type { z } from 'zod'
import type { Answer, Operation } from '../../../libraries/admin/client.js'
import type {
  shownConsent,
  shownCopy,
  shownFactor,
  shownFactorsAfter,
  shownGrant,
  shownPerson,
  shownSession,
} from '../../admin-api/people-documents.js'
import type { ClaimWarning } from '../../administration/account-changes.js'
import type { ErasedPerson } from '../../administration/person-erasure.js'
import type { JsonObject } from '../../json.js'

interface Sub {
  readonly sub: string
}

interface PageQuery {
  readonly limit?: number
  readonly cursor?: string
}

interface Page<Item> {
  readonly items: readonly Item[]
  readonly next_cursor?: string | undefined
}

type ListOf<Shown extends z.ZodType> = (
  input: Sub & { readonly query: PageQuery },
) => Promise<Answer<Page<z.output<Shown>>>>

type FactorsAfter = z.output<typeof shownFactorsAfter>

type Changed = Sub & { readonly username: string }

/** The operations of the admin API that commands call. */
export interface Operations {
  listPeople(input: {
    readonly query: PageQuery & { readonly search?: string; readonly source?: string }
  }): Promise<Answer<Page<z.output<typeof shownPerson>>>>
  readPerson(input: Sub): Promise<Answer<z.output<typeof shownPerson>>>
  updatePerson(
    input: Sub & {
      readonly ifMatch: string
      readonly body: { readonly claims?: JsonObject; readonly username?: string }
    },
  ): Promise<Answer<Changed & { readonly warnings: readonly ClaimWarning[] }>>
  disablePerson(input: Sub): Promise<Answer<Changed & FactorsAfter>>
  enablePerson(input: Sub): Promise<Answer<Changed & FactorsAfter>>
  endPerson(input: Sub & { readonly body: { readonly factors: boolean } }): Promise<
    Answer<
      FactorsAfter & {
        readonly known: boolean
        readonly sessions: number
        readonly grants: number
        readonly consents: number
      }
    >
  >
  erasePerson(input: Sub): Promise<Answer<ErasedPerson>>
  exportPerson(input: Sub): Promise<Answer<z.output<typeof shownCopy>>>
  issueRecoveryLink(
    input: Sub & { readonly body: { readonly expires_in: number } },
  ): Promise<Answer<{ readonly link: string; readonly recovery: string; readonly expires_at: string }>>
  readonly listSessions: ListOf<typeof shownSession>
  endSessions(input: Sub): Promise<Answer<{ readonly sessions: readonly string[] }>>
  endSession(input: Sub & { readonly sid: string }): Promise<Answer<undefined>>
  readonly listGrants: ListOf<typeof shownGrant>
  revokeGrants(
    input: Sub & { readonly query: { readonly client_id?: string } },
  ): Promise<Answer<{ readonly grants: readonly string[] }>>
  readonly listConsents: ListOf<typeof shownConsent>
  revokeConsents(input: Sub): Promise<Answer<{ readonly clients: readonly string[] }>>
  revokeConsent(input: Sub & { readonly client_id: string }): Promise<Answer<undefined>>
  listFactors(input: Sub): Promise<Answer<Page<z.output<typeof shownFactor>>>>
  removeFactor(input: Sub & { readonly id: string }): Promise<Answer<undefined>>
}

const person = '/people/{sub}'

/** The same as in the API; a test compares them with its description. */
export const operations: Readonly<Record<keyof Operations, Operation>> = {
  listPeople: { method: 'GET', path: '/people' },
  readPerson: { method: 'GET', path: person },
  updatePerson: { method: 'PATCH', path: person },
  disablePerson: { method: 'POST', path: `${person}/disable` },
  enablePerson: { method: 'POST', path: `${person}/enable` },
  endPerson: { method: 'POST', path: `${person}/end` },
  erasePerson: { method: 'POST', path: `${person}/erase` },
  exportPerson: { method: 'GET', path: `${person}/export` },
  issueRecoveryLink: { method: 'POST', path: `${person}/recovery_links` },
  listSessions: { method: 'GET', path: `${person}/sessions` },
  endSessions: { method: 'DELETE', path: `${person}/sessions` },
  endSession: { method: 'DELETE', path: `${person}/sessions/{sid}` },
  listGrants: { method: 'GET', path: `${person}/grants` },
  revokeGrants: { method: 'DELETE', path: `${person}/grants` },
  listConsents: { method: 'GET', path: `${person}/consents` },
  revokeConsents: { method: 'DELETE', path: `${person}/consents` },
  revokeConsent: { method: 'DELETE', path: `${person}/consents/{client_id}` },
  listFactors: { method: 'GET', path: `${person}/factors` },
  removeFactor: { method: 'DELETE', path: `${person}/factors/{id}` },
}
