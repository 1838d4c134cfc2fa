import type { Clock } from '../clock.js'
import type { AccountLookup } from '../oauth/subjects/account.js'
import { isPublicClient, type Client, type ClientDirectory } from '../oauth/clients/client.js'
import type { BackchannelApproval, BackchannelRequest } from '../oauth/ciba/request.js'
import type { DeviceApproval, DeviceRequest } from '../oauth/grants/device-code.js'
import { isGrantOver } from '../oauth/grants/access-end.js'
import { OAuthError } from '../oauth/errors.js'
import type { AuthorizationCode, Grant, GrantDecision, Redeemable } from '../oauth/grants/grant.js'
import type { GrantIndex } from '../oauth/grants/grant-index.js'
import { hashOpaqueToken } from '../opaque-token.js'
import {
  deriveSuccessor,
  honestRetrySeconds,
  newRefreshToken,
  newSalt,
  readRefreshToken,
} from '../oauth/grants/refresh-token.js'
import type { NotifyClients } from '../oauth/back-channel/notify-clients.js'
import { isOffline } from '../oauth/requests/scope.js'
import { sessionEndId } from '../oauth/grants/session-grants.js'
import type { AuditLog } from '../observe/audit.js'
import type { RecentMap } from '../recent-map.js'
import type { DeviceCodeStore, OneTimeStore, RefreshFamilyStore, RevocationStore } from '../storage/ports.js'

/** The grants that are known to be revoked, which is final. The store is asked about all others. */
export type RevokedGrants = Pick<RecentMap<string, string>, 'get' | 'set'>

export interface RedeemOptions {
  readonly codes: OneTimeStore<AuthorizationCode>
  readonly deviceCodes: DeviceCodeStore<DeviceRequest, DeviceApproval>
  readonly backchannelRequests: DeviceCodeStore<BackchannelRequest, BackchannelApproval>
  readonly families: RefreshFamilyStore<Grant>
  readonly grantIndex: GrantIndex
  readonly revocations: RevocationStore
  readonly notifyClients: NotifyClients
  /** Receives the id of each grant that turned out to be revoked, so that this process signs nothing more for it. */
  readonly revokedGrants: RevokedGrants
  /** This is absent where nobody signs in. */
  readonly accounts?: AccountLookup | undefined
  readonly clients: Pick<ClientDirectory, 'findEnabled'>
  readonly audit: AuditLog
  readonly clock: Clock
  readonly refreshIdleTtl: number
  readonly refreshAbsoluteTtl: number
  /** How long a revoked grant must be remembered, which is until its last token has expired. */
  readonly grantLifetime: number
}

/** The client that makes the request, and the request itself. */
interface Caller {
  readonly client: Client
  readonly requestId: string
  readonly signal: AbortSignal
}

const invalidGrant = (reason: string): OAuthError =>
  new OAuthError('invalid_grant', 'The grant is invalid, expired, revoked or was already used.', { reason })

const startFamily = async (options: RedeemOptions, grant: Grant) => {
  const fresh = newRefreshToken()
  const absoluteExpiry = options.clock() + options.refreshAbsoluteTtl * 1000
  await options.families.start(fresh.family, { grant, current: fresh.hash, absoluteExpiry }, options.refreshIdleTtl)
  return fresh
}

/** One record ends everything that came from the grant (RFC 6749 §4.1.2, RFC 9700 §4.14.2). */
const revokeReused = async (
  options: RedeemOptions,
  event: 'code.reused' | 'device.reused' | 'backchannel.reused' | 'refresh.reused',
  { client, requestId: request_id }: Caller,
  grant: Grant,
) => {
  await options.revocations.revoke(grant.grantId, options.grantLifetime)
  await options.audit.record({
    event,
    request_id,
    client_id: client.client_id,
    sub: grant.subject,
    grant_id: grant.grantId,
  })
}

const checkOwner = (client: Client, grant: Pick<Grant, 'clientId'>): void => {
  if (grant.clientId !== client.client_id) throw new Error('a grant plugin redeemed the grant of another client')
}

const redeemCode = async (options: RedeemOptions, caller: Caller, code: string): Promise<void> => {
  const redemption = await options.codes.redeem(hashOpaqueToken(code))
  if (redemption.outcome === 'unknown') throw invalidGrant('code expired before it was redeemed')
  checkOwner(caller.client, redemption.record)
  if (redemption.outcome === 'won') return
  await revokeReused(options, 'code.reused', caller, redemption.record)
  throw invalidGrant('code was already used')
}

const redeemPolled = async (
  options: RedeemOptions,
  caller: Caller,
  { kind, code }: Extract<Redeemable, { kind: 'device_code' | 'auth_req_id' }>,
): Promise<void> => {
  const store = kind === 'device_code' ? options.deviceCodes : options.backchannelRequests
  const redemption = await store.redeem(hashOpaqueToken(code))
  if (redemption.outcome === 'unknown') throw invalidGrant(`${kind} expired before it was redeemed`)
  const { request, approval } = redemption.record
  checkOwner(caller.client, request)
  if (redemption.outcome === 'won') return
  const event = kind === 'device_code' ? 'device.reused' : 'backchannel.reused'
  if (approval) await revokeReused(options, event, caller, approval)
  throw invalidGrant(`${kind} was already used`)
}

const rotateRefreshToken = async (
  options: RedeemOptions,
  caller: Caller,
  token: string,
): Promise<string | undefined> => {
  const read = readRefreshToken(token)
  if (read === undefined) throw invalidGrant('malformed refresh token')
  const salt = newSalt()
  const successor = isPublicClient(caller.client) ? deriveSuccessor(token, salt) : undefined
  const redemption = await options.families.rotate(read.family, {
    presented: read.hash,
    ...(successor && { successor: { hash: successor.hash, salt } }),
    idleTtlSeconds: options.refreshIdleTtl,
  })
  if (redemption.outcome === 'unknown') throw invalidGrant('refresh token expired before it was rotated')
  const { record } = redemption
  checkOwner(caller.client, record.grant)
  if (redemption.outcome === 'won') return successor?.token
  const { previous } = record
  // The rotation may lie as far in the future, because a replica's clock may be ahead, but no further, as after a
  // clock was set back.
  if (previous?.hash === read.hash && Math.abs(options.clock() - previous.rotatedAt) <= honestRetrySeconds * 1000) {
    const again = deriveSuccessor(token, previous.salt)
    if (again.hash === record.current) return again.token
  }
  await revokeReused(options, 'refresh.reused', caller, record.grant)
  await options.families.remove(read.family)
  throw invalidGrant('refresh token was already used')
}

/**
 * The session is looked up for codes alone: once codes have become tokens, the end of the session finds them in the
 * index.
 */
const isOver = async (options: RedeemOptions, grant: Grant, redeemable: Redeemable): Promise<boolean> => {
  const { grantId, clientId, subject } = grant
  const { sid, auth_time: authTime } = grant.authentication
  const asked = { grantId, clientId, subject, authTime }
  if (sid === undefined || redeemable.kind === 'refresh_token') return isGrantOver(options.revocations, asked)
  if (!(await isGrantOver(options.revocations, asked, [sessionEndId({ sid, authTime })]))) return false
  if (!isOffline(grant) || (await isGrantOver(options.revocations, asked))) return true
  // The grant outlives the session, which may have ended before the client was on the list to notify.
  await options.notifyClients(subject, { sids: [sid], clientId })
  return false
}

/**
 * Returns why nothing may be issued any more. What was checked before signing may have ended while the signer worked
 * (CC13).
 */
const findEnd = async (
  options: RedeemOptions,
  { client, signal }: Caller,
  { grant, redeem, subject, authentication }: GrantDecision,
): Promise<OAuthError | undefined> => {
  const asking = options.clients.findEnabled(client.client_id)
  // A service's token has no person and no grant that could have ended.
  const [registered, isRevoked, account] =
    authentication === undefined && redeem === undefined
      ? [await asking]
      : await Promise.all([
          asking,
          redeem && grant && isOver(options, grant, redeem),
          authentication && options.accounts?.find(subject, signal),
        ])
  // The revocation is remembered whatever else is refused, so that the next request is refused before anything is
  // signed.
  if (isRevoked && grant) options.revokedGrants.set(grant.grantId, 'revoked')
  if (registered === undefined)
    return new OAuthError('invalid_client', 'Client authentication failed.', {
      reason: 'the client is gone or disabled',
    })
  if (authentication && account === undefined) return invalidGrant('the account is gone or disabled')
  return isRevoked && grant ? invalidGrant('the grant was revoked') : undefined
}

const consume = (options: RedeemOptions, caller: Caller, redeemable: Redeemable): Promise<string | void> => {
  switch (redeemable.kind) {
    case 'authorization_code':
      return redeemCode(options, caller, redeemable.code)
    case 'device_code':
    case 'auth_req_id':
      return redeemPolled(options, caller, redeemable)
    case 'refresh_token':
      return rotateRefreshToken(options, caller, redeemable.token)
  }
}

/**
 * Consumes what the decision names and returns the refresh token for the answer, if there is one. Throws
 * `invalid_grant` to all but the winner, and when the grant or the person no longer exists; `invalid_client` when the
 * client no longer exists; and `Unavailable` when the store is down.
 */
const redeem = async (
  options: RedeemOptions,
  caller: Caller,
  decision: GrantDecision,
  refresh: boolean,
): Promise<string | undefined> => {
  const { grant, redeem: redeemable } = decision
  // The family may come from a version without the index, or from one that indexed it under another id. It is indexed
  // before anything is used up.
  const indexed = redeemable?.kind === 'refresh_token' && grant ? options.grantIndex.complete(grant) : undefined
  const starts = refresh && redeemable?.kind !== 'refresh_token'
  // The family is written first: its token has not been handed out yet, and a failure here uses nothing up. Both
  // calls take one round trip.
  const [end, started] =
    starts && grant
      ? await Promise.all([findEnd(options, caller, decision), startFamily(options, grant)])
      : [(await Promise.all([findEnd(options, caller, decision), indexed]))[0]]
  try {
    if (end !== undefined) throw end
    // A grant that a plugin creates itself begins here; all others were recorded when the person granted them.
    if (started && grant && redeemable === undefined) await options.grantIndex.add(grant)
    const successor = redeemable && (await consume(options, caller, redeemable))
    return successor ?? started?.token
  } catch (error) {
    if (started && error instanceof OAuthError) await options.families.remove(started.family)
    throw error
  }
}

/**
 * The one atomic step of a token request, after signing and before the answer. Of all callers that present the same
 * code or refresh token, one wins; the tokens of the others are thrown away.
 */
export const createRedeem =
  (options: RedeemOptions): Redeem =>
  (caller, decision, refresh) =>
    redeem(options, caller, decision, refresh)

export type Redeem = (caller: Caller, decision: GrantDecision, refresh: boolean) => Promise<string | undefined>
