import { checkMembers, kinds } from '../wire/options.js'
import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isSameTarget } from '../wire/htu.js'
import { isOfType } from '../wire/media-type.js'
import {
  longestLifetimeSeconds,
  transactionTokenHeader,
  workloadIdentityHeader,
  workloadProofScheme,
  workloadProofType,
} from '../wire/names.js'
import { isTime, maxIdLength } from '../wire/request-claims.js'
import type { Fetch } from './fetch-text.js'
import { readCompact } from './jws.js'
import { checkKeySources, createKeySets } from './key-sets.js'
import { readMessage, workloadHeaders, type Given, type Message } from './message.js'
import { outage } from './refusal.js'
import { memoryReplayGuard, type ReplayGuard } from './replay.js'
import { readWorkloadIdentity, type ReadWorkload, type Workload } from './workload-identity.js'
import { workloadAnswerOf, WorkloadRefused } from './workload-refusal.js'

/** A trust domain and its bundle: the address, or the keys. */
export type TrustedDomain =
  | { readonly trustDomain: string; readonly jwks_uri: string }
  | { readonly trustDomain: string; readonly jwks: { readonly keys: readonly object[] } }

export interface WorkloadVerifierOptions {
  readonly trustDomains: readonly TrustedDomain[]
  /** Where workloads reach this service, such as `https://api.bank.example`. It is never taken from the request. */
  readonly origin: string
  /** Remembers proofs. Default: in this process only; give a guard that several processes share. */
  readonly replay?: ReplayGuard
  /** Seconds by which the clocks of the three parties may differ. Default 30. */
  readonly clockSkewSeconds?: number
  /** Seconds for which a bundle that cannot be fetched is still used. Default: four hours. */
  readonly staleKeysSeconds?: number
  /** Milliseconds since the epoch. */
  readonly clock?: () => number
  readonly fetch?: Fetch
}

export interface WorkloadVerifier {
  /**
   * Rejects with `VerificationError`, whose `answer` is for the client. The proof covers neither the method, nor the
   * query, nor the body (draft-ietf-wimse-wpt-02 §2), so anyone who can change the request in transit can change
   * these. The body is not read.
   */
  check(request: IncomingMessage | Request, given?: Given): Promise<Workload>
}

/** Characters. */
const longestHeader = 8192
const credentials = new RegExp(`^${workloadProofScheme} +([\\w.-]+)$`, 'i')

const members = {
  ...{
    trustDomains: kinds.list,
    origin: kinds.text,
    replay: kinds.withMethods('claim'),
    clockSkewSeconds: kinds.number,
  },
  ...{ staleKeysSeconds: kinds.amount, clock: kinds.call, fetch: kinds.call },
}

/** Throws a `TypeError` for unknown or invalid options. */
export const createWorkloadVerifier = (options: WorkloadVerifierOptions): WorkloadVerifier => {
  checkMembers('options', options, members, ['trustDomains', 'origin'])
  const { trustDomains, origin, clock = Date.now, clockSkewSeconds: skew = 30 } = options
  checkKeySources('trustDomains', trustDomains, 'trustDomain')
  if (!URL.canParse(origin) || new URL(origin).origin !== origin) throw new TypeError('origin is not an origin')
  if (!(skew >= 0 && skew <= 300)) throw new TypeError('clockSkewSeconds is between 0 and 300')
  const keySets = createKeySets({
    issuers: trustDomains.map(({ trustDomain: issuer, ...keys }) => ({ issuer, ...keys })),
    fetch: options.fetch ?? ((url, init) => fetch(url, init)),
    clock,
    staleFor: (options.staleKeysSeconds ?? 14_400) * 1000,
    use: 'wit-svid',
  })
  const replay = options.replay ?? memoryReplayGuard({ clock })

  /** draft-ietf-wimse-wpt-02 §2. Returns what has to be remembered, and until when. */
  const checkProof = (text: string, token: string, { headers, target }: Message, by: ReadWorkload, now: number) => {
    const { header, payload, input, signature } = readCompact(text)
    if (!isOfType(header['typ'], workloadProofType)) throw new WorkloadRefused('wrong_type')
    if (header['alg'] !== by.alg) throw new WorkloadRefused('bad_alg')
    if (!by.key.verifies(by.alg, input, signature)) throw new WorkloadRefused('bad_signature')
    const { aud, exp, jti, wth, tth } = payload
    if (!isTime(exp) || typeof jti !== 'string' || jti === '' || jti.length > maxIdLength)
      throw new WorkloadRefused('malformed')
    if (now > exp + skew) throw new WorkloadRefused('signature_expired')
    if (exp > now + longestLifetimeSeconds + skew) throw new WorkloadRefused('lifetime_too_long')
    if (typeof aud !== 'string' || !isSameTarget(aud, `${origin}${target}`))
      throw new WorkloadRefused('audience_mismatch')
    const transaction = headers.get(transactionTokenHeader)
    if (wth !== sha256(token) || tth !== (transaction && sha256(transaction)))
      throw new WorkloadRefused('token_mismatch')
    // Hashes of tokens that this verifier does not know.
    if ('oth' in payload) throw new WorkloadRefused('token_mismatch')
    return { id: `${by.jkt}.wpt.${jti}`, until: exp + skew }
  }

  const check = async (message: Message): Promise<Workload> => {
    const now = clock() / 1000
    const token = message.headers.get(workloadIdentityHeader)
    const authorization = message.headers.get('authorization')
    if (!token || !authorization) throw new WorkloadRefused('missing_credential')
    if (token.length > longestHeader || authorization.length > longestHeader)
      throw new WorkloadRefused('header_too_large')
    const proof = credentials.exec(authorization)?.[1]
    if (proof === undefined) throw new WorkloadRefused('missing_credential')
    const by = await readWorkloadIdentity(token, keySets, { now, skew })
    const { id, until } = checkProof(proof, token, message, by, now)
    const isNew = await outage('replay_guard_unavailable', () => replay.claim(id, until))
    if (isNew !== true) throw new WorkloadRefused('replay_detected')
    const { workload, trustDomain, jkt, claims } = by
    return { workload, trustDomain, jkt, claims }
  }

  return {
    async check(request, given) {
      try {
        return await check(readMessage(request, workloadHeaders, given))
      } catch (error) {
        throw workloadAnswerOf(error)
      }
    },
  }
}

const sha256 = (text: string): string => hash('sha256', text, 'base64url')
