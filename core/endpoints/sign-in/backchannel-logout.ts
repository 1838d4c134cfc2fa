import type { PersonalRecords } from '../../interaction/personal-records.js'
import type { SignInMethod } from '../../interaction/sign-in-method.js'
import { OAuthError } from '../../oauth/errors.js'
import { checkNoneRepeated } from '../../oauth/requests/params.js'
import type { AuditLog } from '../../observe/audit.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import type { RecordLookup } from '../../storage/ports.js'
import type { Declaration } from '../endpoint.js'
import { json } from '../message.js'
import type { RecordedHandler } from '../refusals.js'

export interface BackchannelLogoutOptions {
  readonly methods: ReadonlyMap<string, SignInMethod>
  readonly records: Pick<PersonalRecords, 'listSessions' | 'endSessions'>
  /** Processed logout tokens, by the hash of method and `jti`. */
  readonly taken: RecordLookup<true>
  readonly audit: AuditLog
  readonly toleranceSeconds: number
}

/** A token that arrives later than this ends only what began before it was made. */
const rememberedSeconds = 3600

/**
 * `POST /sign-in/{method}/backchannel-logout`: the place where people sign in reports that a person has signed out
 * (OIDC Back-Channel Logout §2.5).
 */
export const backchannelLogoutEndpoint = {
  path: '/sign-in/{method}/backchannel-logout',
  methods: ['POST'],
  body: 'form',
  limit: { byAddress: 'revoke', countedAs: 'backchannel_logout', byRefusals: true },
  refusedEvent: 'logout.refused',
} as const satisfies Declaration

export const createBackchannelLogout = (options: BackchannelLogoutOptions): RecordedHandler => {
  const { methods, records, taken, audit } = options
  const refuse = (reason: string): never => {
    throw new OAuthError('invalid_request', 'The logout token is not accepted.', { reason })
  }
  return async (http, seen) => {
    const method = methods.get(http.path.get('method') ?? '')
    if (method?.endedElsewhere === undefined)
      throw new OAuthError('invalid_request', 'There is no such sign-in method.', { status: 404 })
    seen.auditFields = { method: method.id }
    checkNoneRepeated(http.form)
    const token = http.form.values.get('logout_token')
    if (token === undefined) throw new OAuthError('invalid_request', 'The parameter logout_token is missing.')
    const end = await method.endedElsewhere(token, http.signal)
    if ('fault' in end) return refuse(end.fault)
    const { subject, issuedAt } = end
    const key = hashOpaqueToken(JSON.stringify([method.id, end.id]))
    if ((await taken.find(key)) !== undefined) return refuse('the logout token came before')
    if (subject !== undefined) {
      const all = await records.listSessions(subject)
      // A repeated token ends only what began before it was made.
      const over = all.filter(({ authTime }) => authTime <= issuedAt + options.toleranceSeconds)
      const revoked = await records.endSessions(subject, over)
      const auditContext = { request_id: http.requestId, sub: subject, reason: 'signed out at the sign-in method' }
      for (const { sid } of over)
        await audit.record({
          event: 'session.ended',
          ...auditContext,
          method: method.id,
          sid,
          grants: revoked.get(sid),
        })
    }
    // Recorded only now: after an earlier outage the token can be retried, and two concurrent ones end the same
    // sessions.
    const isFirst = await taken.put(key, true, { ttlSeconds: rememberedSeconds, onlyIfAbsent: true })
    return isFirst ? json(200, {}) : refuse('the logout token came before')
  }
}
