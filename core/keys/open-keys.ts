import type { Clock } from '../clock.js'
import { stateAt, type RingKey } from './key-states.js'
import { KeyRefused, type JwsAlg, type KeyPurpose, type SignerProvider } from './ports.js'
import { proveKey } from './prove-key.js'
import { BadJwk, checkPublicJwk } from './public-key-guard.js'

/** One entry of `keys`. Times are milliseconds since the epoch; absent: always, never. */
export interface KeyConfiguration {
  readonly kid: string
  readonly alg: JwsAlg
  /** The name of a provider. */
  readonly signer: string
  /** The provider's name for the key, verbatim. */
  readonly ref: string
  /** Absent: all. */
  readonly purposes?: readonly KeyPurpose[] | undefined
  readonly not_before?: number | undefined
  readonly not_after?: number | undefined
}

export interface OpenKeysOptions {
  /** In order of preference. */
  readonly keys: readonly KeyConfiguration[]
  readonly providers: ReadonlyMap<string, SignerProvider>
  readonly clock: Clock
  /** How long a token for one of these purposes is accepted after it was signed, tolerance included: seconds. */
  readonly retentionSeconds: (purposes: readonly KeyPurpose[]) => number
  readonly signal: AbortSignal
}

export interface KeyProblem {
  /** `keys[1].ref`, as the operator wrote it. */
  readonly path: string
  readonly message: string
}

/** Keys that cannot be used, all of them at once. */
export class KeysRefused extends Error {
  override readonly name = 'KeysRefused'
  readonly problems: readonly KeyProblem[]

  constructor(problems: readonly KeyProblem[]) {
    super(problems.map(({ path, message }) => `${path}: ${message}`).join('\n'))
    this.problems = problems
  }
}

export const allPurposes: readonly KeyPurpose[] = [
  'access_token',
  'id_token',
  'attestation',
  'userinfo',
  'logout_token',
  'jarm',
]

type Opening = { readonly key: RingKey; readonly thumbprint?: string } | { readonly problem: KeyProblem }

/** Opens all keys at once and proves those that sign, now or next. Throws `KeysRefused` when any of them cannot be used. */
export const openKeys = async (options: OpenKeysOptions): Promise<readonly RingKey[]> => {
  const openings = await Promise.all(options.keys.map((key, index) => openKey(key, `keys[${index}]`, options)))
  const problems = openings.flatMap((opening) => ('problem' in opening ? [opening.problem] : []))
  problems.push(...repetitions(options.keys, openings))
  if (problems.length > 0) throw new KeysRefused(problems)
  return openings.flatMap((opening) => ('key' in opening ? [opening.key] : []))
}

const openKey = async (configuration: KeyConfiguration, path: string, options: OpenKeysOptions): Promise<Opening> => {
  const { kid, alg, signer: name, ref, purposes = allPurposes, not_before, not_after } = configuration
  const notAfter = not_after ?? Infinity
  const goneAt = notAfter + options.retentionSeconds(purposes) * 1000
  const key = { kid, alg, signer: name, purposes, notBefore: not_before ?? -Infinity, notAfter, goneAt }
  // The backend may have disabled a key since it was retired, and destroyed one that is gone.
  const state = stateAt(key, options.clock())
  if (state === 'gone') return { key }
  const provider = options.providers.get(name)
  if (provider === undefined) return { problem: { path: `${path}.signer`, message: `there is no signer ${name}` } }
  try {
    const signer = await provider.open(ref, alg, options.signal)
    if (signer.alg !== alg) throw new KeyRefused(`the signer opened it for ${signer.alg}`)
    const { jwk, publicKey, thumbprint } = checkPublicJwk(signer.publicJwk, [alg])
    const opened = { signing: { kid, alg, signerName: name, signer }, published: { kid, alg, jwk, publicKey } }
    if (state !== 'retired') {
      const { outcome, cause } = await proveKey({ ...key, opened }, options.signal)
      if (outcome === 'unavailable') throw cause
      if (outcome === 'failed') throw new KeyRefused('its signature does not verify with its public key')
    }
    return { key: { ...key, opened }, thumbprint }
  } catch (error) {
    return { problem: { path, message: messageOf(error) } }
  }
}

const messageOf = (error: unknown): string => {
  if (error instanceof KeyRefused || error instanceof BadJwk) return error.message
  return `the signer did not answer: ${error instanceof Error ? error.message : 'unknown error'}`
}

/** A `kid` names one key (RFC 7517 §4.5), and one key has one purpose lock and one lifetime: those of its one entry. */
const repetitions = (keys: readonly KeyConfiguration[], openings: readonly Opening[]): KeyProblem[] => {
  const problems: KeyProblem[] = []
  const kids = new Map<string, number>()
  const thumbprints = new Map<string, number>()
  keys.forEach(({ kid }, index) => {
    const sameKid = kids.get(kid)
    if (sameKid === undefined) kids.set(kid, index)
    else problems.push({ path: `keys[${index}].kid`, message: `${kid} is also the kid of keys[${sameKid}]` })
    const opening = openings[index]
    if (opening === undefined || !('thumbprint' in opening)) return
    const sameKey = thumbprints.get(opening.thumbprint)
    if (sameKey === undefined) thumbprints.set(opening.thumbprint, index)
    else problems.push({ path: `keys[${index}].ref`, message: `is the same key as keys[${sameKey}]` })
  })
  return problems
}
