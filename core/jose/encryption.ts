import type { KeyObject } from 'node:crypto'
import type { KeyTypeRow } from './algorithms.js'

const keyManagementRows = {
  'RSA-OAEP-256': { kty: 'RSA' },
  'ECDH-ES': { kty: 'EC' },
  'ECDH-ES+A256KW': { kty: 'EC' },
} as const satisfies Readonly<Record<string, Pick<KeyTypeRow, 'kty'>>>

/**
 * How the content key of an encrypted JWT reaches its reader (RFC 7518 §4.1). `RSA1_5`, `dir` and symmetric methods
 * are not supported.
 */
export type JweAlg = keyof typeof keyManagementRows

/** The only table of methods. To add one, add its row. */
export const keyManagement: Readonly<Record<JweAlg, Pick<KeyTypeRow, 'kty'>>> = keyManagementRows

export const allKeyManagement = Object.keys(keyManagement) as readonly JweAlg[]

/** How the content is encrypted (RFC 7518 §5.1). */
export const contentEncryptions = ['A128CBC-HS256', 'A256GCM'] as const
export type JweEnc = (typeof contentEncryptions)[number]

/** The default when a client names none (OIDC Registration §2). */
export const defaultContentEncryption: JweEnc = 'A128CBC-HS256'

export const isJweAlg = (value: unknown): value is JweAlg =>
  typeof value === 'string' && Object.hasOwn(keyManagement, value)

/** A public key of another party that we encrypt to. It verifies nothing. */
export interface EncryptionKey {
  readonly alg: JweAlg
  readonly kid: string | undefined
  readonly publicKey: KeyObject
}

/** Encrypts a signed JWT (RFC 7519 §5.2, §7.1). */
export const encryptJwt = async (
  signed: string,
  { alg, kid, publicKey }: EncryptionKey,
  enc: JweEnc,
): Promise<string> => {
  // Loaded on demand, because few clients use encryption.
  const { CompactEncrypt } = await import('jose/jwe/compact/encrypt')
  return await new CompactEncrypt(Buffer.from(signed))
    .setProtectedHeader({ alg, enc, cty: 'JWT', ...(kid !== undefined && { kid }) })
    .encrypt(publicKey)
}
