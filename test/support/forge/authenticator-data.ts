import { createHash } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'

export const sha256 = (bytes: Uint8Array | string): Buffer => createHash('sha256').update(bytes).digest()

/** As `isoCBOR` takes it; its types know fewer values. */
export const cbor = (value: unknown): Buffer => Buffer.from(isoCBOR.encode(value as never))

/** COSE_Key of a P-256 key for ES256 (RFC 9053 §7.1.1). */
export const coseKeyOf = ({ x, y }: Record<string, unknown>): Map<number, unknown> =>
  new Map<number, unknown>([
    ...([
      [1, 2],
      [3, -7],
      [-1, 1],
    ] as const),
    [-2, new Uint8Array(Buffer.from(String(x), 'base64url'))],
    [-3, new Uint8Array(Buffer.from(String(y), 'base64url'))],
  ])

export const flags = { present: 1, verified: 4, mayBackUp: 8, attested: 64 } as const

export interface AuthenticatorData {
  readonly rpId: string
  readonly flags: number
  readonly counter: number
  readonly aaguid: Buffer
  readonly credentialId: Buffer
  readonly key: Record<string, unknown>
}

/** Web Authentication Level 3 §6.1. */
export const writeAuthenticatorData = (data: AuthenticatorData): Buffer => {
  const head = Buffer.alloc(5)
  head.writeUInt8(data.flags)
  head.writeUInt32BE(data.counter, 1)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(data.credentialId.length)
  return Buffer.concat([sha256(data.rpId), head, data.aaguid, length, data.credentialId, cbor(coseKeyOf(data.key))])
}
