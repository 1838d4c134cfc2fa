import { DescribeKeyCommand, GetPublicKeyCommand, SignCommand, type KeyMetadata } from '@aws-sdk/client-kms'
import { createHash, createPublicKey } from 'node:crypto'
import {
  algorithms,
  BadJwk,
  checkPublicJwk,
  KeyRefused,
  signatureLength,
  type GuardedKey,
  type JwsAlg,
  type PublicJwk,
} from '../../core/api/signer.js'
import type { KmsRegion } from './kms-region.js'
import { kmsAlgorithms, rawBytes } from './key-specs.js'
import { joseFromDer } from './ecdsa-signature.js'

/** The longest time for a call, and the signal that ends it earlier. */
export interface CallLimits {
  readonly signal: AbortSignal
  readonly milliseconds: number
}

/** The answer of KMS in JOSE form, and its request id. */
export interface KmsSignature {
  /** Empty if malformed: it then verifies with no key, and verification quarantines this one (F16). */
  readonly signature: Uint8Array
  readonly flaw?: string
  readonly requestId: string | undefined
}

/** One key in one region, by its ARN, so that moving the alias to another key changes nothing here. */
export interface PinnedKey {
  readonly arn: string
  readonly key: GuardedKey
  /** Throws like `KmsRegion.call`. */
  sign(message: Uint8Array, limits: CallLimits): Promise<KmsSignature>
}

/** Looks up the key, checks that it may sign `alg`, and fetches its public half. Throws like `KmsRegion.call`. */
export const pinKey = async (region: KmsRegion, ref: string, alg: JwsAlg, limits: CallLimits): Promise<PinnedKey> => {
  const { KeyMetadata: metadata } = await region.call({
    subject: { action: 'DescribeKey', ref },
    ...limits,
    send: (client, abortSignal) => client.send(new DescribeKeyCommand({ KeyId: ref }), { abortSignal }),
  })
  const arn = checkMetadata(metadata, ref, alg)
  const { KeyId, PublicKey } = await region.call({
    subject: { action: 'GetPublicKey', ref: arn },
    ...limits,
    send: (client, abortSignal) => client.send(new GetPublicKeyCommand({ KeyId: arn }), { abortSignal }),
  })
  // A reply about another key is never trusted: its `KeyId` is the ARN of the key that was used. A double of KMS may
  // return only the id, which names the same key, because the request named the ARN.
  if (KeyId !== arn && KeyId !== idOf(arn))
    throw new KeyRefused(`KMS answered GetPublicKey for ${arn} with another key: ${KeyId ?? 'none'}`)
  const key = readPublicKey(PublicKey, arn, alg)
  return { arn, key, sign: (message, callLimits) => sign(region, arn, key, alg, message, callLimits) }
}

/** The id in the ARN of a key. */
export const idOf = (arn: string): string => arn.slice(arn.indexOf('/') + 1)

const checkMetadata = (metadata: KeyMetadata | undefined, ref: string, alg: JwsAlg): string => {
  const { Arn: arn, KeyState, KeyUsage, KeySpec, SigningAlgorithms = [] } = metadata ?? {}
  const { keySpecs, signingAlgorithm } = kmsAlgorithms[alg]
  if (arn === undefined || KeySpec === undefined) throw new KeyRefused(`KMS describes ${ref} without its ARN and spec`)
  const name = arn === ref ? ref : `${ref} (${arn})`
  if (KeyUsage !== 'SIGN_VERIFY')
    throw new KeyRefused(
      `${name} has the usage ${KeyUsage ?? 'none'}, not SIGN_VERIFY: the usage of a key cannot change`,
    )
  if (!keySpecs.includes(KeySpec))
    throw new KeyRefused(`${name} has the spec ${KeySpec} and cannot sign ${alg}, which needs ${keySpecs.join(' or ')}`)
  if (!SigningAlgorithms.includes(signingAlgorithm))
    throw new KeyRefused(`${name} does not offer ${signingAlgorithm}, which ${alg} is`)
  if (KeyState !== 'Enabled')
    throw new KeyRefused(`${name} is ${KeyState ?? 'in no state'}: ${stateHints[KeyState ?? '']}`)
  return arn
}

const stateHints: Readonly<Record<string, string>> = {
  Disabled: 'enable it with aws kms enable-key',
  PendingDeletion: 'aws kms cancel-key-deletion and enable-key bring it back',
  PendingReplicaDeletion: 'it is deleted when its replicas are',
  PendingImport: 'it is waiting for its key material',
  Creating: 'it is still being created',
  Updating: 'it is being updated',
  Unavailable: 'its key store is not connected',
}

const readPublicKey = (spki: Uint8Array | undefined, arn: string, alg: JwsAlg): GuardedKey => {
  try {
    const publicKey = createPublicKey({ key: Buffer.from(spki ?? []), format: 'der', type: 'spki' })
    return checkPublicJwk(publicKey.export({ format: 'jwk' }), [alg])
  } catch (error) {
    const why = error instanceof BadJwk ? error.message : 'It is not a SubjectPublicKeyInfo of an accepted type.'
    throw new KeyRefused(`The public key that KMS returned for ${arn} is not accepted. ${why}`)
  }
}

const sign = async (
  region: KmsRegion,
  arn: string,
  { jwk }: GuardedKey,
  alg: JwsAlg,
  message: Uint8Array,
  limits: CallLimits,
): Promise<KmsSignature> => {
  const { signingAlgorithm, messageType } = kmsAlgorithms[alg]
  const { digest } = algorithms[alg]
  if (messageType === 'RAW' && (message.length < rawBytes.min || message.length > rawBytes.max))
    throw new KeyRefused(
      `KMS signs ${alg} over ${rawBytes.min} to ${rawBytes.max} bytes; this message has ${message.length}`,
    )
  const reply = await region.call({
    subject: { action: 'Sign', ref: arn },
    ...limits,
    send: (client, abortSignal) =>
      client.send(
        new SignCommand({
          KeyId: arn,
          Message: digest === null ? message : createHash(digest).update(message).digest(),
          MessageType: messageType,
          SigningAlgorithm: signingAlgorithm,
        }),
        { abortSignal },
      ),
  })
  const { requestId } = reply.$metadata
  const none = (flaw: string): KmsSignature => ({ signature: new Uint8Array(), flaw, requestId })
  if (reply.KeyId !== arn) return none(`it is by another key: ${reply.KeyId ?? 'none'}`)
  const signature = joseForm(reply.Signature ?? new Uint8Array(), alg, jwk)
  return signature === undefined ? none(`it does not have the form of ${alg}`) : { signature, requestId }
}

const joseForm = (signature: Uint8Array, alg: JwsAlg, jwk: PublicJwk): Uint8Array | undefined => {
  const length = signatureLength(alg, jwk)
  if (jwk.kty === 'EC') return joseFromDer(signature, length / 2)
  return signature.length === length ? signature : undefined
}
