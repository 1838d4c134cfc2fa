import type { JsonObject } from '../json.js'

const base64url = (bytes: unknown): string => Buffer.from(bytes as Uint8Array).toString('base64url')

const curves: Readonly<Record<number, string>> = { 1: 'P-256', 2: 'P-384', 3: 'P-521', 6: 'Ed25519' }

/** A COSE_Key (RFC 9052 §7, base64url) as a JWK, for the audit log. Throws for a key of another type. */
export const coseToJwk = async (publicKey: string): Promise<JsonObject> => {
  const { decodeCredentialPublicKey } = await import('@simplewebauthn/server/helpers')
  const key = decodeCredentialPublicKey(new Uint8Array(Buffer.from(publicKey, 'base64url'))) as unknown as ReadonlyMap<
    number,
    unknown
  >
  const curve = curves[Number(key.get(-1))]
  switch (key.get(1)) {
    case 1:
      return { kty: 'OKP', crv: curve ?? '', x: base64url(key.get(-2)) }
    case 2:
      return { kty: 'EC', crv: curve ?? '', x: base64url(key.get(-2)), y: base64url(key.get(-3)) }
    case 3:
      return { kty: 'RSA', n: base64url(key.get(-1)), e: base64url(key.get(-2)) }
    default:
      throw new TypeError('the key is of another type')
  }
}
