import { addressBucket } from '../address-bucket.js'
import type { JsonValue } from '../json.js'
import { isPublicClient, type Client } from '../oauth/clients/client.js'
import { OAuthError, type AttemptedAuthentication, type ErrorCode } from '../oauth/errors.js'
import { Counts } from '../observe/counts.js'
import type { AuditEvent, AuditEventName } from '../observe/audit.js'
import type { AuditFile } from '../observe/audit-log.js'
import { RefusalCounts } from '../observe/refusal-counts.js'
import type { Handler, EndpointRequest, Reply } from './message.js'
import type { RateLimits } from './rate-limits.js'

/** The sender of a request, as far as an endpoint has determined it. */
export interface AuditContext {
  /**
   * The client that authenticated. A public client has proved nothing, so its refusals count as anonymous and name it
   * as claimed.
   */
  client?: Client
  /** An existing client that the request names. */
  claimedClientId?: string | undefined
  /** The signed-in person, or the principal of an open challenge. */
  sub?: string | undefined
  /** Further members of the audit line of this request. */
  auditFields?: Readonly<Record<string, JsonValue | undefined>>
}

/** Answers one request, and reports its sender in `seen` as soon as it is known, for the audit line of a refusal. */
export type RecordedHandler = (http: EndpointRequest, seen: AuditContext) => Promise<Reply>

/** A request that was refused. */
export interface RefusedRequest extends AuditContext {
  readonly event: AuditEventName
  /** An error, or the reason only. */
  readonly why: OAuthError | string
  /** Id of the sign-in method. */
  readonly method?: string | undefined
  /** The account that a sign-in attempt named. It distinguishes attempts, and proves nothing. */
  readonly guessed?: string | undefined
}

/** Passes refusals to the audit log. */
export interface Refusals extends AsyncDisposable {
  /**
   * A refusal of an authenticated client or a signed-in person is written at once, and throws `Unavailable` when it
   * cannot be. Any other, and requests over a limit, are counted as by `RefusalCounts`, and never cause an outage.
   */
  record(http: EndpointRequest, refused: RefusedRequest): Promise<void>
  /**
   * Wraps a handler so that its refusals are recorded as this event, or as `client.refused` if the client did not
   * authenticate.
   */
  recording(event: AuditEventName, handler: RecordedHandler): Handler
  /**
   * Refusals that were not written because the space was reserved for other lines, or because nothing could be
   * written.
   */
  readonly dropped: Counts
}

export interface RefusalOptions {
  readonly audit: Pick<AuditFile, 'record'>
  /** Whether there is space for optional lines. */
  readonly hasRoom: () => boolean
  readonly limits: Pick<RateLimits, 'countRefusal'>
}

const intervalMs = 1000

/** Steps of every flow, which honest clients meet too. */
const expected: ReadonlySet<string | undefined> = new Set<ErrorCode>([
  'authorization_pending',
  'slow_down',
  'use_dpop_nonce',
  'login_required',
  'use_attestation_challenge',
])

/** RFC 6749 §5.2. `/authorize` authenticates nobody, and answers 400 for an unknown client. */
const isUnauthenticated = ({ code, status }: OAuthError): boolean => code === 'invalid_client' && status === 401

const describe = (attempted: AttemptedAuthentication | undefined) =>
  attempted && {
    client_auth_method: attempted.method,
    registered_auth_method: attempted.registered?.join(' '),
  }

/** The only path of a refusal to the audit log. Disposing of it writes the remaining counts. */
export const createRefusals = ({ audit, hasRoom, limits }: RefusalOptions): Refusals => {
  const counts = new RefusalCounts()
  const total = new Counts()
  const dropped = total.of()
  let timer: NodeJS.Timeout | undefined
  /** How many refusals had been dropped when the space ran out. Undefined while there is space. */
  let droppedBefore: number | undefined

  const drop = (lines: readonly AuditEvent[]): void => {
    for (const { count } of lines) dropped.value += typeof count === 'number' ? count : 1
  }

  /** Reports once that the space has run out, and once that there is space again. */
  const checkRoom = async (): Promise<boolean> => {
    const before = droppedBefore
    const isRoom = hasRoom()
    if (isRoom === (before === undefined)) return isRoom
    droppedBefore = isRoom ? undefined : dropped.value
    const change = before === undefined ? { state: 'begun' } : { state: 'ended', count: dropped.value - before }
    try {
      await audit.record({ event: 'refusals.dropped', ...change })
    } catch (error) {
      droppedBefore = before
      throw error
    }
    return isRoom
  }

  /** Nobody waits for these lines. `/health/ready` and writers of mandatory lines notice what prevents them. */
  const write = async (...lines: readonly AuditEvent[]): Promise<void> => {
    try {
      if (!(await checkRoom())) return drop(lines)
      if (lines.length > 0) await audit.record(...lines)
    } catch {
      drop(lines)
    }
  }

  const flush = async (): Promise<void> => {
    timer = undefined
    const lines = counts.drain()
    schedule()
    await write(...lines)
  }

  const schedule = (): void => {
    if (timer !== undefined || (counts.isEmpty && droppedBefore === undefined)) return
    timer = setTimeout(() => void flush(), intervalMs).unref()
  }

  const record: Refusals['record'] = async (
    http,
    { event, why, client, sub, method, guessed, auditFields, ...named },
  ) => {
    const { code, errorCode, reason, status, claimedClientId, sentClientId, clientAuthentication, isOfChain } =
      why instanceof OAuthError ? why : ({ reason: why } as Partial<OAuthError>)
    const refusal = { event, error: code, error_code: errorCode, reason, method, ...describe(clientAuthentication) }
    const isProved = sub !== undefined || (client !== undefined && !isPublicClient(client))
    const clientId = named.claimedClientId ?? claimedClientId ?? client?.client_id
    const own = {
      request_id: http.requestId,
      ...auditFields,
      ...(sentClientId !== undefined && { sent_client_id: sentClientId }),
    }
    if (isProved && status !== 429)
      return audit.record({ ...refusal, ...own, client_id: clientId, ...(sub !== undefined && { sub }) })
    const address = addressBucket(http.address)
    if (!isProved && status !== 429 && !expected.has(code)) limits.countRefusal(address, isOfChain === true)
    const kind = { ...refusal, ...(guessed !== undefined && { sub: guessed }) }
    const isFirst = counts.add(kind, { address, clientId })
    schedule()
    if (isFirst) await write({ ...own, ...kind, address, claimed_client_id: clientId })
  }

  return {
    record,
    recording: (event, handler) => async (http) => {
      const seen: AuditContext = {}
      try {
        return await handler(http, seen)
      } catch (error) {
        if (error instanceof OAuthError)
          await record(http, { event: isUnauthenticated(error) ? 'client.refused' : event, why: error, ...seen })
        throw error
      }
    },
    dropped: total,
    async [Symbol.asyncDispose]() {
      clearTimeout(timer)
      timer = undefined
      await write(...counts.drain())
    },
  }
}
