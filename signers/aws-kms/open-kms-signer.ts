import {
  KeyRefused,
  Unavailable,
  type JwsAlg,
  type SignatureTrace,
  type Signer,
  type SignerServices,
} from '../../core/api/signer.js'
import { keyReference } from './key-reference.js'
import { kmsAlgorithms, rawBytes } from './key-specs.js'
import type { KmsRegion } from './kms-region.js'
import { pinKey, type PinnedKey } from './pinned-key.js'

/** At least one region, in order of preference. */
export type Regions = readonly [KmsRegion, ...KmsRegion[]]

/** Opens one key in each region that answers. Throws like `SignerProvider.open`. */
export const openKmsSigner = async (
  regions: Regions,
  ref: string,
  alg: JwsAlg,
  signal: AbortSignal,
  milliseconds: number,
  { log }: SignerServices,
): Promise<Signer> => {
  const firstRegion = await regions[0].name()
  const pinIn = async (region: KmsRegion, limits: { signal: AbortSignal; milliseconds: number }) =>
    pinKey(region, keyReference(ref, firstRegion, await region.name()), alg, limits)

  const pins = new Map<KmsRegion, PinnedKey>()
  const openings = await Promise.allSettled(regions.map((region) => pinIn(region, { signal, milliseconds })))
  signal.throwIfAborted()
  const failures = openings.flatMap((opening) => (opening.status === 'rejected' ? [opening.reason as unknown] : []))
  // A fault in one region is reported at once; a region that does not answer is covered by the others.
  const wrong = failures.find((failure) => !(failure instanceof Unavailable))
  if (wrong !== undefined) throw wrong as Error
  let first: PinnedKey | undefined
  for (const [index, region] of regions.entries()) {
    const opening = openings[index]
    if (opening?.status !== 'fulfilled') {
      log.warn('a KMS region did not answer while a key was opened', { region: await region.name(), ref })
      continue
    }
    first ??= opening.value
    checkSameKey(first, opening.value)
    pins.set(region, opening.value)
  }
  if (first === undefined) throw failures[0] as Error
  const reference = first

  const signIn = async (
    region: KmsRegion,
    message: Uint8Array,
    limits: { signal: AbortSignal; milliseconds: number },
  ) => {
    let pinned = pins.get(region)
    if (pinned === undefined) {
      pinned = await pinIn(region, limits)
      checkSameKey(reference, pinned)
      pins.set(region, pinned)
    }
    return { key: pinned.arn, ...(await pinned.sign(message, limits)) }
  }
  return Object.freeze({
    alg,
    publicJwk: first.key.jwk,
    ...(kmsAlgorithms[alg].messageType === 'RAW' && { messageBytes: rawBytes }),
    async sign(message: Uint8Array, callSignal: AbortSignal, trace?: SignatureTrace) {
      const { signature, flaw, key, requestId } = await inTurn(regions, callSignal, milliseconds, (region, share) =>
        signIn(region, message, { signal: callSignal, milliseconds: share }),
      )
      if (flaw !== undefined)
        log.error('A signature that KMS returned was discarded', { key, reference: requestId, flaw })
      if (trace !== undefined) trace.key = key
      if (trace !== undefined && requestId !== undefined) trace.reference = requestId
      return signature
    },
  })
}

const checkSameKey = (first: PinnedKey, other: PinnedKey): void => {
  if (first.key.thumbprint === other.key.thumbprint) return
  throw new KeyRefused(
    `${other.arn} is not the same key as ${first.arn}: a replica is made with aws kms replicate-key, from a multi-Region key`,
  )
}

/**
 * Tries the regions in turn until one answers; those that recently did not answer come last. Each gets a share of the
 * remaining time, the last one all of it. Throws the first `Unavailable`, or at once an error that another region
 * cannot fix.
 */
export const inTurn = async <T>(
  regions: Regions,
  signal: AbortSignal,
  milliseconds: number,
  ask: (region: KmsRegion, milliseconds: number) => Promise<T>,
): Promise<T> => {
  const end = performance.now() + milliseconds
  const available = regions.filter((region) => !region.isCoolingDown())
  const ordered = [...available, ...regions.filter((region) => !available.includes(region))]
  let failure: Unavailable | undefined
  for (const [index, region] of ordered.entries()) {
    const share = (end - performance.now()) / (ordered.length - index)
    if (share <= 0) break
    try {
      return await ask(region, share)
    } catch (error) {
      if (signal.aborted || !(error instanceof Unavailable)) throw error
      region.coolDown()
      failure ??= error
    }
  }
  throw failure ?? new Unavailable('signers.aws-kms', 'no', 'AWS KMS was not asked: no time was left.')
}
