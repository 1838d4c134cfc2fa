import { checkMembers, kinds } from '../wire/options.js'
import { hash, timingSafeEqual, verify as verifySignature } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { attestationHeader, attestationType, signatureHeader } from '../wire/names.js'
import { timeProblem } from '../wire/request-claims.js'
import { createAttestationReader, type Attestation } from './attestation.js'
import type { Fetch } from './fetch-text.js'
import { hasHttpMessageSignature, readHttpMessageSignature } from './http-message-signature.js'
import { checkIssuers, createKeySets, type TrustedIssuer } from './key-sets.js'
import { deviceHeaders, readMessage, type Given, type Message } from './message.js'
import { originOf } from './origin.js'
import type { Proof } from './proof.js'
import { outage, refused } from './refusal.js'
import { memoryReplayGuard, type ReplayGuard } from './replay.js'
import { readRequestSignature } from './request-signature.js'
import { createStatusLists, type StatusChecker } from './status-list.js'

export interface VerifierOptions {
  readonly issuers: readonly TrustedIssuer[]
  /** The name of this verifier, which requests are signed for. Verifiers with another name refuse them. */
  readonly audience: string
  /**
   * Where clients reach this verifier, such as `https://api.bank.example`, since HTTP message signatures are bound to
   * it. Default: the origin of `audience` if that is a URL; without either, only `X-Signature` is accepted. It is
   * never taken from the request.
   */
  readonly origin?: string
  /** Remembers request signatures. Default: in this process only; give a guard that several processes share. */
  readonly replay?: ReplayGuard
  /** Checks attestations with a `status`. Default: the issuer's status lists. */
  readonly status?: StatusChecker
  /** Longest body in bytes. Default 1 MiB; larger ones are answered with 413. */
  readonly maxBodyBytes?: number
  /** Seconds by which the clocks of issuer, device and verifier may differ. Default 30. */
  readonly clockSkewSeconds?: number
  /** Seconds for which keys of an unreachable issuer are still used. Default: four hours. */
  readonly staleKeysSeconds?: number
  /** `typ` of attestations, if the issuer's configuration changes it. */
  readonly attestationType?: string
  /** Milliseconds since the epoch. */
  readonly clock?: () => number
  readonly fetch?: Fetch
}

/** Who sent a request, and its body. */
export interface VerifiedRequest extends Attestation {
  /** The bytes that the signature covers. Empty if there is no body. */
  readonly body: Uint8Array
}

export interface Verifier {
  /**
   * Rejects with `VerificationError`, whose `answer` is for the client. Reads the body only after everything else was
   * verified.
   */
  check(request: IncomingMessage | Request, given?: Given): Promise<VerifiedRequest>
}

/** Characters. */
const longestAttestation = 8192
const longestSignature = 4096

const members = {
  ...{ issuers: kinds.list, audience: kinds.name, origin: kinds.text },
  ...{ replay: kinds.withMethods('claim'), status: kinds.withMethods('isValid') },
  ...{ maxBodyBytes: kinds.amount, attestationType: kinds.name, clockSkewSeconds: kinds.number },
  ...{ staleKeysSeconds: kinds.amount, clock: kinds.call, fetch: kinds.call },
}

/** Throws a `TypeError` for unknown or invalid options. */
export const createVerifier = (options: VerifierOptions): Verifier => {
  checkMembers('options', options, members, ['issuers', 'audience'])
  const { issuers, audience, clock = Date.now, clockSkewSeconds: skew = 30, maxBodyBytes = 1_048_576 } = options
  if (!(skew >= 0 && skew <= 300)) throw new TypeError('clockSkewSeconds is between 0 and 300')
  checkIssuers(issuers)
  const origin = originOf(audience, options.origin)

  const fetcher = options.fetch ?? ((url, init) => fetch(url, init))
  const staleFor = (options.staleKeysSeconds ?? 14_400) * 1000
  const keySets = createKeySets({ issuers, fetch: fetcher, clock, staleFor })
  const status = options.status ?? createStatusLists({ keySets, fetch: fetcher, clock })
  const replay = options.replay ?? memoryReplayGuard({ clock })
  const type = options.attestationType ?? attestationType
  const readAttestation = createAttestationReader({ keySets, status, type, skew })

  const readProof = (message: Message): Proof => {
    const signature = message.headers.get(signatureHeader)
    if (origin !== undefined && hasHttpMessageSignature(message)) {
      // With two signatures it would be unclear which one counts.
      if (signature !== undefined) throw refused('duplicate_header')
      return readHttpMessageSignature(message, origin)
    }
    if (signature === undefined) throw refused('missing_credential')
    return readRequestSignature(signature, audience)
  }

  return {
    async check(request, given) {
      const message = readMessage(request, deviceHeaders, given)
      const now = clock() / 1000
      const text = message.headers.get(attestationHeader)
      if (!text) throw refused('missing_credential')
      checkSizes(message, text)
      const proof = readProof(message)
      const attestation = await outage('status_unavailable', () => readAttestation(text, now))

      const { jkt } = attestation
      if ((proof.keyid ?? jkt) !== jkt) throw refused('key_not_bound')
      const key = attestation.bind(proof.jwk)
      const ecdsa = { key, dsaEncoding: 'ieee-p1363' } as const
      if (!verifySignature('sha256', Buffer.from(proof.input), ecdsa, proof.signature)) throw refused('bad_signature')

      const { issuedAt, expiresAt } = proof
      const problem = timeProblem(issuedAt, expiresAt, now, skew)
      if (problem) throw refused(problem)
      proof.checkTarget(message)
      const body = await readBody(message, proof, maxBodyBytes)
      const isNew = await outage('replay_guard_unavailable', () => replay.claim(`${jkt}.${proof.id}`, expiresAt + skew))
      if (isNew !== true) throw refused('replay_detected')

      const { principal, attributes, claims } = attestation
      return { principal, attributes, jkt, claims, body }
    },
  }
}

const checkSizes = ({ headers }: Message, attestation: string): void => {
  const others = [signatureHeader, 'signature-input', 'signature', 'signature-key', 'content-digest']
  if (
    attestation.length > longestAttestation ||
    others.some((name) => (headers.get(name)?.length ?? 0) > longestSignature)
  )
    throw refused('header_too_large')
}

const readBody = async ({ length, read }: Message, { digest }: Proof, most: number): Promise<Uint8Array> => {
  // Faults that the headers show are found before a byte is read.
  if (length !== undefined && (length === 0) !== (digest === undefined)) throw refused('body_mismatch')
  if (length !== undefined && length > most) throw refused('body_too_large')
  const body = length === 0 ? new Uint8Array() : await read(most)
  if ((body.length === 0) !== (digest === undefined)) throw refused('body_mismatch')
  if (digest && !isSame(hash('sha256', body, digest.encoding), digest.text)) throw refused('body_mismatch')
  return body
}

const isSame = (one: string, other: string): boolean =>
  one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
