import { DeviceError } from './errors.js'
import { signCompact, type DeviceKey } from './key.js'

/** Who enrols. */
export interface Enrolment {
  readonly subject: string
  readonly principalId: string
  readonly principalType: 'device' | 'service'
  /** What the attestation should say; the issuer may grant less. */
  readonly attributes?: Readonly<Record<string, unknown>>
  readonly secondFactor: { readonly kind: string; readonly value: string }
  /** Ends the wait, for an answer or for a person who has to approve. */
  readonly signal?: AbortSignal
}

export interface Attested {
  readonly attestation: string
  /** Seconds. */
  readonly expires_in: number
  readonly reissue_after: number
}

export interface Ceremony {
  /**
   * Repeats what an outage kept from being answered, for five minutes: the factor may be used up already. While a person
   * has to approve, it goes on for an hour. Throws `DeviceError`.
   */
  enrol(key: DeviceKey, enrolment: Enrolment): Promise<Attested>
  /** Asks once. Throws `DeviceError`. */
  renew(key: DeviceKey, attestation: string): Promise<Attested>
}

type Json = Readonly<Record<string, unknown>>
type Post = (path: string, body: Json) => Promise<Json>

/** Milliseconds. */
const answerWithin = 10_000
const repeatFor = 300_000
const waitForPersonFor = 3_600_000

export const createCeremony = (issuer: string, fetcher: typeof fetch): Ceremony => {
  const post =
    (signal?: AbortSignal): Post =>
    async (path, body) => {
      const timeout = AbortSignal.timeout(answerWithin)
      const request = {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      }
      const response = await fetcher(`${issuer}${path}`, request).catch((cause: unknown) => {
        throw unreachable(cause)
      })
      const answer = (await response.json().catch((cause: unknown) => {
        throw unreachable(cause)
      })) as Json | null
      if (response.ok && answer !== null) return answer
      throw refusal(response, answer ?? {})
    }

  const complete = async (send: Post, key: DeviceKey, { challenge }: Json): Promise<Attested> => {
    const said = { challenge, aud: issuer, iat: Math.floor(Date.now() / 1000) }
    const challenge_signature = await signCompact(key, { typ: 'enrol-proof+jws' }, said)
    return (await send('/enrol/complete', { challenge, challenge_signature })) as unknown as Attested
  }

  return {
    async enrol(key, { subject, principalId, principalType, attributes, secondFactor, signal }) {
      const send = repeating(post(signal), signal)
      const asked = await send('/enrol', {
        subject,
        principal_id: principalId,
        principal_type: principalType,
        ...(attributes && { attributes }),
        public_jwk: key.publicJwk,
        second_factor: secondFactor,
      })
      return complete(send, key, asked)
    },
    async renew(key, attestation) {
      const send = post()
      return complete(send, key, await send('/reissue', { attestation, public_jwk: key.publicJwk }))
    },
  }
}

const repeating =
  (post: Post, signal?: AbortSignal): Post =>
  async (path, body) => {
    for (const began = Date.now(); ;)
      try {
        return await post(path, body)
      } catch (error) {
        signal?.throwIfAborted()
        if (!(error instanceof DeviceError) || !error.isPassing) throw error
        const most = error.errorCode === 'ApprovalPending' ? waitForPersonFor : repeatFor
        if (Date.now() - began > most) throw error
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

const unreachable = (cause: unknown): DeviceError =>
  new DeviceError('Unreachable', 'The issuer did not answer.', { cause })

const refusal = ({ status, headers }: Response, answer: Json): DeviceError => {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN)
  const retry = Number.isFinite(seconds) ? { retryAfterSeconds: seconds } : {}
  const { error_code: code, error_description: description } = answer
  if (typeof code === 'string') return new DeviceError(code, String(description), retry)
  return new DeviceError(
    status === 429 ? 'RateLimited' : 'Unreachable',
    `The issuer answered ${String(status)}.`,
    retry,
  )
}
