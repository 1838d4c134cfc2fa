import { createHash, sign as signMessage, type KeyObject } from 'node:crypto'
import { signingAlgorithms, type DoubleKeySpec } from './key-material.js'
import type { ActionCall, Body } from './action-call.js'
import { account, type DoubleKey } from './keys.js'
import { KmsErrorReply } from './kms-error.js'
import { checkTags, management } from './management.js'
import { signEcdsa, signPkcs1, signPss } from './sign-digest.js'

/** The documented behaviour of each action that a signer uses. */
export const actions: Readonly<Record<string, (call: ActionCall) => Promise<Body> | Body>> = {
  DescribeKey({ key }) {
    const described = present(key)
    if (described.creatingFor > 0 && --described.creatingFor === 0) described.state = 'Enabled'
    return { KeyMetadata: metadata(described) }
  },

  GetPublicKey({ key }) {
    const { arn, spec, usage, publicKey } = usable(present(key))
    return {
      KeyId: arn,
      KeySpec: spec,
      CustomerMasterKeySpec: spec,
      KeyUsage: usage,
      PublicKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
      SigningAlgorithms: signingAlgorithms[spec],
    }
  },

  Sign({ key, body }) {
    const { arn, spec, usage, privateKey } = usable(present(key))
    const algorithm = text(body['SigningAlgorithm'])
    if (usage !== 'SIGN_VERIFY')
      throw new KmsErrorReply('InvalidKeyUsageException', `${arn} key usage is ${usage} which is not valid for Sign.`)
    if (!(signingAlgorithms[spec] as readonly string[]).includes(algorithm))
      throw new KmsErrorReply(
        'InvalidKeyUsageException',
        `Algorithm ${algorithm} is incompatible with key spec ${spec}.`,
      )
    const message = Buffer.from(text(body['Message']), 'base64')
    const signature = signWith(privateKey, algorithm, text(body['MessageType']) || 'RAW', message)
    return { KeyId: arn, Signature: signature.toString('base64'), SigningAlgorithm: algorithm }
  },

  async CreateKey({ keys, region, body }) {
    const { KeySpec: spec, KeyUsage: usage, MultiRegion: multiRegion, Description: description, Tags: tags } = body
    const key = await keys.create(String(spec) as DoubleKeySpec, {
      region,
      usage: String(usage),
      multiRegion: multiRegion === true,
      description: text(description),
      tags: checkTags(tags),
    })
    return { KeyMetadata: metadata(key) }
  },

  ReplicateKey({ keys, key, body }) {
    const tags = checkTags(body['Tags'])
    const replica = keys.replicate(usable(present(key)), text(body['ReplicaRegion']), { state: 'Creating', tags })
    return { ReplicaKeyMetadata: metadata(replica), ReplicaTags: tags }
  },

  ...management,
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '')

const present = (key: DoubleKey | undefined): DoubleKey => {
  if (key === undefined)
    throw new KmsErrorReply('ValidationException', "Value null at 'keyId' failed to satisfy constraint")
  return key
}

/** KMS developer guide, "Key states of AWS KMS keys". */
const usable = (key: DoubleKey): DoubleKey => {
  if (key.state === 'Disabled') throw new KmsErrorReply('DisabledException', `${key.arn} is disabled.`)
  if (key.state === 'Unavailable') throw new KmsErrorReply('KeyUnavailableException', `${key.arn} is unavailable.`)
  if (key.state !== 'Enabled') {
    const state = key.state.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase()
    throw new KmsErrorReply('KMSInvalidStateException', `${key.arn} is ${state}.`)
  }
  return key
}

const metadata = ({ arn, keyId, spec, usage, state, created, description, origin, ...key }: DoubleKey): Body => ({
  AWSAccountId: account,
  Arn: arn,
  KeyId: keyId,
  CreationDate: created,
  Description: description,
  Enabled: state === 'Enabled',
  KeyManager: 'CUSTOMER',
  KeySpec: spec,
  CustomerMasterKeySpec: spec,
  KeyState: state,
  KeyUsage: usage,
  MultiRegion: key.multiRegion,
  Origin: origin,
  ...(key.multiRegion && { MultiRegionConfiguration: { MultiRegionKeyType: key.primary ? 'PRIMARY' : 'REPLICA' } }),
  ...(usage === 'SIGN_VERIFY' && { SigningAlgorithms: signingAlgorithms[spec] }),
})

const signWith = (key: KeyObject, algorithm: string, type: string, message: Buffer): Buffer => {
  if (type !== 'RAW' && type !== 'DIGEST')
    throw new KmsErrorReply('ValidationException', `Value '${type}' at 'messageType'`)
  if (message.length < 1 || message.length > 4096)
    throw new KmsErrorReply(
      'ValidationException',
      "Value at 'message' failed to satisfy constraint: length between 1 and 4096",
    )
  if (algorithm === 'ED25519_SHA_512') {
    if (type === 'DIGEST') throw new KmsErrorReply('ValidationException', `${algorithm} requires MessageType RAW.`)
    return signMessage(null, message, key)
  }
  const hash = /_SHA_(256|384|512)$/.exec(algorithm)?.[1]
  if (algorithm.startsWith('ED25519') || hash === undefined)
    throw new KmsErrorReply('UnsupportedOperationException', `The double does not do ${algorithm}.`)
  const name = `sha${hash}` as 'sha256'
  const digest = type === 'RAW' ? createHash(name).update(message).digest() : message
  if (digest.length !== Number(hash) / 8)
    throw new KmsErrorReply('ValidationException', `Digest is invalid length for algorithm ${algorithm}.`)
  if (algorithm.startsWith('ECDSA')) return signEcdsa(key, digest)
  return algorithm.startsWith('RSASSA_PSS') ? signPss(key, name, digest) : signPkcs1(key, name, digest)
}
