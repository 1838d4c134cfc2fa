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

/** Who sent a request, as far as an endpoint has found out. */
export interface RequestTrail {
  /** The client that authenticated. A public one has proved nothing: its refusals are nobody's, and name it as claimed. */
  client?: Client
  /** A client that exists and that the request names. */
  claimedClientId?: string | undefined
  /** Of a person who is signed in, or of the principal of an open challenge. */
  sub?: string | undefined
  /** Further members of a line that is about this request alone. */
  trail?: Readonly<Record<string, JsonValue | undefined>>
}

/** Answers one request, and says in `seen` who sent it as soon as it knows: its refusals are recorded with that. */
export type RecordedHandler = (http: EndpointRequest, seen: RequestTrail) => Promise<Reply>

/** A request that was refused. */
export interface Refused extends RequestTrail {
  readonly event: AuditEventName
  /** An error, or only why. */
  readonly why: OAuthError | string
  /** Id of the sign-in method. */
  readonly method?: string | undefined
  /** The account that somebody tried to sign in to: distinguished from others, and not a proof of anything. */
  readonly guessed?: string | undefined
}

/** Where refusals go on their way to the audit log. */
export interface Refusals extends AsyncDisposable {
  /**
   * Of an authenticated client or a signed-in person: a line at once; throws `Unavailable` when it cannot be written. Of
   * anyone else, and of requests over a limit: counted, as `RefusalCounts` does, and never an outage.
   */
  record(http: EndpointRequest, refused: Refused): Promise<void>
  /** The handler, with its refusals recorded under this name; that of a client that did not authenticate as `client.refused`. */
  recording(event: AuditEventName, handler: RecordedHandler): Handler
  /** Refusals that were not written because the room was kept for other lines, or because nothing could be written. */
  readonly dropped: Counts
}

export interface RefusalOptions {
  readonly audit: Pick<AuditFile, 'record'>
  /** Whether there is room for what need not be recorded. */
  readonly hasRoom: () => boolean
  readonly limits: Pick<RateLimits, 'countRefusal'>
}

const intervalMs = 1000

/** Honest clients meet these in every flow: they are steps of it. */
const expected: ReadonlySet<string | undefined> = new Set<ErrorCode>([
  'authorization_pending',
  'slow_down',
  'use_dpop_nonce',
  'login_required',
  'use_attestation_challenge',
])

/** RFC 6749 §5.2. `/authorize` authenticates nobody, and answers 400 for a client that it does not know. */
const isUnauthenticated = ({ code, status }: OAuthError): boolean => code === 'invalid_client' && status === 401

const describe = (attempted: AttemptedAuthentication | undefined) =>
  attempted && {
    client_auth_method: attempted.method,
    registered_auth_method: attempted.registered?.join(' '),
  }

/** The one way by which a refusal gets into the audit log. Disposing of it writes what is still counted. */
export const createRefusals = ({ audit, hasRoom, limits }: RefusalOptions): Refusals => {
  const counts = new RefusalCounts()
  const total = new Counts()
  const dropped = total.of()
  let timer: NodeJS.Timeout | undefined
  /** How many refusals had been dropped when the room ran out; undefined while there is room. */
  let droppedBefore: number | undefined

  const drop = (lines: readonly AuditEvent[]): void => {
    for (const { count } of lines) dropped.value += typeof count === 'number' ? count : 1
  }

  /** Tells once that the room has run out, and once that there is room again. */
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

  /** Nobody waits for these lines: what keeps them from being written is seen by `/health/ready` and by who must write. */
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

  const record: Refusals['record'] = async (http, { event, why, client, sub, method, guessed, trail, ...named }) => {
    const { code, errorCode, reason, status, claimedClientId, sentClientId, clientAuthentication, isOfChain } =
      why instanceof OAuthError ? why : ({ reason: why } as Partial<OAuthError>)
    const refusal = { event, error: code, error_code: errorCode, reason, method, ...describe(clientAuthentication) }
    const isProved = sub !== undefined || (client !== undefined && !isPublicClient(client))
    const clientId = named.claimedClientId ?? claimedClientId ?? client?.client_id
    const own = {
      request_id: http.requestId,
      ...trail,
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
      const seen: RequestTrail = {}
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
