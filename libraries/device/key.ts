import { base64url } from 'jose'
import { withErrorCode } from './errors.js'

/** The public half of a P-256 key, with the members and spelling of RFC 7638 §3.2. */
export interface PublicJwk {
  readonly kty: 'EC'
  readonly crv: 'P-256'
  readonly x: string
  readonly y: string
}

/** The key of a device. It signs where it is held, and cannot be read. */
export interface DeviceKey {
  readonly publicJwk: PublicJwk
  /**
   * Signs with ECDSA and SHA-256; returns `r` and `s` concatenated, 32 bytes each (RFC 7518 §3.4). Rejects when the
   * key cannot be used.
   */
  sign(input: Uint8Array): Promise<Uint8Array>
}

export interface KeyPair {
  readonly publicKey: CryptoKey
  readonly privateKey: CryptoKey
}

const algorithm = { name: 'ECDSA', namedCurve: 'P-256' } as const

/** Generates a key pair whose private key no script can read. */
export const generateKeyPair = (): Promise<KeyPair> => crypto.subtle.generateKey(algorithm, false, ['sign', 'verify'])

const webCryptoKey = async ({ publicKey, privateKey }: KeyPair): Promise<DeviceKey> => {
  const { x = '', y = '' } = await crypto.subtle.exportKey('jwk', publicKey)
  return {
    publicJwk: { kty: 'EC', crv: 'P-256', x, y },
    sign: async (input) =>
      new Uint8Array(
        await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, input as Uint8Array<ArrayBuffer>),
      ),
  }
}

/** Creates a compact JWS (RFC 7515 §7.1) with ES256. */
export const signCompact = async (
  key: DeviceKey,
  header: Readonly<Record<string, unknown>>,
  payload: object,
): Promise<string> => {
  const input = `${encodeJson({ alg: 'ES256', ...header })}.${encodeJson(payload)}`
  return `${input}.${base64url.encode(await key.sign(new TextEncoder().encode(input)))}`
}

const encodeJson = (value: object): string => base64url.encode(JSON.stringify(value))

/** The key with which the device signs: `key`, or else the pair in its store. Failures have the code `KeyFailed`. */
export const usedKey = (key: DeviceKey | undefined, keys: KeyPair | undefined): Promise<DeviceKey> =>
  withErrorCode('KeyFailed', 'The key of this device cannot be used.', async () => {
    const held = key ?? (keys && (await webCryptoKey(keys)))
    if (!held) throw new Error('There is no key.')
    const sign = (input: Uint8Array) =>
      withErrorCode('KeyFailed', 'The key of this device did not sign.', () => held.sign(input))
    return { publicJwk: held.publicJwk, sign }
  })
