import { calculateJwkThumbprint } from 'jose'
import { checkMembers, kinds } from '../wire/options.js'
import { evidenceStatement } from '../wire/evidence.js'
import { DeviceError } from './errors.js'
import { unreachable, type Ask, type Json } from './issuer.js'
import { signCompact, type DeviceKey, type PublicJwk } from './key.js'

/** What evidence must be bound to. */
export interface EvidenceRequest {
  /** Valid once, for a few minutes. */
  readonly challenge: string
  readonly publicJwk: PublicJwk
  /**
   * `challenge`, a dot, and the thumbprint of the key (RFC 7638), in UTF-8. For hardware that cannot sign with this
   * key.
   */
  readonly statement: Uint8Array<ArrayBuffer>
}

/** The principal to enrol, and its second factor. */
export interface Enrolment {
  readonly subject: string
  readonly principalId: string
  readonly principalType: 'device' | 'service'
  /** The attributes that the attestation should have. The issuer may grant fewer. */
  readonly attributes?: Readonly<Record<string, unknown>>
  readonly secondFactor: { readonly kind: string; readonly value: string }
  /**
   * Creates evidence that the key is in hardware: `kind`, and the members of that kind without `challenge`. Called
   * again if the challenge expired before the request was answered.
   */
  readonly evidence?: (asked: EvidenceRequest) => Promise<{ readonly kind: string; readonly [member: string]: unknown }>
  /**
   * Called before each wait. `errorCode` gives the reason (`ApprovalPending`, `RateLimited`, `Unreachable`,
   * `Unavailable`), and `retryAfterSeconds` the duration, five seconds if absent.
   */
  readonly onWaiting?: (error: DeviceError) => void
  /** Aborts waiting for an answer or for a person's approval. */
  readonly signal?: AbortSignal
}

export interface Attested {
  readonly attestation: string
  /** Seconds. */
  readonly expires_in: number
  readonly reissue_after: number
  /** Tokens that the issuer may return in addition. */
  readonly client_attestation?: string
  readonly workload_identity_token?: string
}

export interface Ceremony {
  /**
   * Retries requests that an outage left unanswered for five minutes, because the factor may be used up already.
   * While a person has to approve, it retries for an hour. Throws `DeviceError`, and any error of `evidence`.
   */
  enrol(key: DeviceKey, enrolment: Enrolment): Promise<Attested>
  /** Makes one attempt. Throws `DeviceError`. */
  renew(key: DeviceKey, attestation: string): Promise<Attested>
}

/** Throws a `TypeError` for an invalid enrolment. */
export const checkEnrolment = (enrolment: Enrolment): void => {
  checkMembers('enrolment', enrolment, enrolmentMembers, ['subject', 'principalId', 'principalType', 'secondFactor'])
  checkMembers('enrolment.secondFactor', enrolment.secondFactor, { kind: kinds.name, value: kinds.name }, [
    'kind',
    'value',
  ])
}

const enrolmentMembers = {
  ...{ subject: kinds.name, principalId: kinds.name, principalType: kinds.oneOf('device', 'service') },
  ...{ attributes: kinds.object, secondFactor: kinds.object, evidence: kinds.call, onWaiting: kinds.call },
  signal: (value: unknown) => value instanceof AbortSignal,
}

type Post = (path: string, body: Json) => Promise<Json>

/** Milliseconds. */
const repeatFor = 300_000
const waitForPersonFor = 3_600_000

export const createCeremony = (issuer: string, ask: Ask): Ceremony => {
  const post =
    (signal?: AbortSignal): Post =>
    (path, body) => {
      const headers = { 'content-type': 'application/json' }
      return ask(path, { method: 'POST', headers, body: JSON.stringify(body), ...(signal && { signal }) })
    }

  const complete = async (send: Post, key: DeviceKey, { challenge }: Json): Promise<Attested> => {
    if (typeof challenge !== 'string') throw unreachable('no challenge')
    // Without `iat`, because the challenge shows its age and the device's clock may be wrong.
    const challenge_signature = await signCompact(key, { typ: 'enrol-proof+jws' }, { challenge, aud: issuer })
    return toAttested(await send('/enrol/complete', { challenge, challenge_signature }))
  }

  return {
    async enrol(key, enrolment) {
      const { subject, principalId, principalType, attributes, secondFactor, evidence, signal } = enrolment
      const once = post(signal)
      let asked = 0
      const send = repeating((path, body) => {
        if (path === '/enrol') asked++
        return once(path, body)
      }, enrolment)
      const ask = async (): Promise<Json> =>
        send('/enrol', {
          subject,
          principal_id: principalId,
          principal_type: principalType,
          ...(attributes && { attributes }),
          public_jwk: key.publicJwk,
          second_factor: secondFactor,
          ...(evidence && { evidence: await makeEvidence(send, key, evidence) }),
        })
      const answer = await ask().catch((error: unknown) => {
        const isOver = error instanceof DeviceError && error.errorCode === 'EvidenceInvalid' && asked > 1
        if (isOver) return ask()
        throw error
      })
      return complete(send, key, answer)
    },
    async renew(key, attestation) {
      const send = post()
      return complete(send, key, await send('/reissue', { attestation, public_jwk: key.publicJwk }))
    },
  }
}

const makeEvidence = async (
  send: Post,
  { publicJwk }: DeviceKey,
  evidence: NonNullable<Enrolment['evidence']>,
): Promise<Json> => {
  const { attestation_challenge: challenge } = await send('/challenge', {})
  if (typeof challenge !== 'string') throw unreachable('no challenge')
  const statement = evidenceStatement(challenge, await calculateJwkThumbprint(publicJwk))
  const made: unknown = await evidence({ challenge, publicJwk, statement: new TextEncoder().encode(statement) })
  if (!kinds.object(made) || !kinds.name((made as Json)['kind'])) throw new TypeError('evidence gave nothing of a kind')
  return { ...(made as Json), challenge }
}

const repeating =
  (post: Post, { signal, onWaiting }: Pick<Enrolment, 'signal' | 'onWaiting'>): Post =>
  async (path, body) => {
    signal?.throwIfAborted()
    for (const began = performance.now(); ;)
      try {
        return await post(path, body)
      } catch (error) {
        signal?.throwIfAborted()
        if (!(error instanceof DeviceError) || !error.isPassing) throw error
        const most = error.errorCode === 'ApprovalPending' ? waitForPersonFor : repeatFor
        if (performance.now() - began > most) throw error
        // Errors of the callback do not affect the enrolment.
        if (onWaiting) queueMicrotask(() => onWaiting(error))
        await pause(1000 * (error.retryAfterSeconds ?? 5), signal)
      }
  }

const pause = (milliseconds: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop)
      resolve()
    }, milliseconds)
    signal?.addEventListener('abort', stop, { once: true })
  })

const toAttested = (answer: Json): Attested => {
  const { attestation, expires_in, reissue_after, client_attestation, workload_identity_token } = answer
  if (typeof attestation !== 'string' || !isDuration(expires_in) || !isDuration(reissue_after))
    throw unreachable('no attestation')
  return {
    attestation,
    expires_in,
    reissue_after,
    ...(typeof client_attestation === 'string' && { client_attestation }),
    ...(typeof workload_identity_token === 'string' && { workload_identity_token }),
  }
}

const isDuration = (value: unknown): value is number => typeof value === 'number' && value > 0
