import type { AuthorizationRequest } from '../oauth/requests/authorization-request.js'
import { personalClaims } from '../oauth/requests/claims-parameter.js'
import { scopeToAllow } from '../oauth/requests/scope.js'
import { hashOpaqueToken } from '../opaque-token.js'
import { subjectRecordId } from '../oauth/subjects/subject-records.js'
import type { RecordStore } from '../storage/ports.js'

/** What a person has allowed a client, over all requests so far. */
export interface Consent {
  readonly subject: string
  readonly clientId: string
  readonly scope: readonly string[]
  readonly claims: readonly string[]
  readonly resource: readonly string[]
}

export interface Consents {
  /** Returns the scopes that the person has allowed the client so far. Throws `Unavailable`. */
  findScope(subject: string, clientId: string): Promise<readonly string[]>
  /** Tells whether the person has allowed all of this before. Throws `Unavailable`. */
  covers(subject: string, request: AuthorizationRequest): Promise<boolean>
  /** Adds what a request asks for to what was allowed. Throws `Unavailable`. */
  remember(subject: string, request: AuthorizationRequest): Promise<void>
}

/** The two are hashed separately, so that they may have any length and no two pairs collide. */
export const consentId = (subject: string, clientId: string): string =>
  subjectRecordId(subject, hashOpaqueToken(clientId))

const includesAll = (all: readonly string[], some: readonly string[]): boolean =>
  some.every((value) => all.includes(value))

const union = (before: readonly string[] | undefined, now: readonly string[]): readonly string[] => [
  ...new Set([...(before ?? []), ...now]),
]

export const createConsents = (store: RecordStore<Consent>): Consents => ({
  findScope: async (subject, clientId) => (await store.find(consentId(subject, clientId)))?.scope ?? [],
  async covers(subject, request) {
    const { clientId, resource, requestedClaims } = request
    const consent = await store.find(consentId(subject, clientId))
    if (consent === undefined) return false
    return (
      includesAll(consent.scope, scopeToAllow(request)) &&
      includesAll(consent.resource, resource) &&
      includesAll(consent.claims, personalClaims(requestedClaims))
    )
  },
  // Two concurrent calls may lose one of the two answers. The only effect is that the person is asked again.
  async remember(subject, request) {
    const { clientId, resource, requestedClaims } = request
    const id = consentId(subject, clientId)
    const before = await store.find(id)
    await store.put(id, {
      subject,
      clientId,
      scope: union(before?.scope, scopeToAllow(request)),
      claims: union(before?.claims, personalClaims(requestedClaims)),
      resource: union(before?.resource, resource),
    })
  },
})
