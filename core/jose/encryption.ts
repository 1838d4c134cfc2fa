import type { KeyObject } from 'node:crypto'
import type { KeyTypeRow } from './algorithms.js'

const keyManagementRows = {
  'RSA-OAEP-256': { kty: 'RSA' },
  'ECDH-ES': { kty: 'EC' },
  'ECDH-ES+A256KW': { kty: 'EC' },
} as const satisfies Readonly<Record<string, Pick<KeyTypeRow, 'kty'>>>

/** How the key that encrypts a JWT gets to its reader (RFC 7518 §4.1). `RSA1_5`, `dir` and what is symmetric do not exist here. */
export type JweAlg = keyof typeof keyManagementRows

/** The one table. To add a method, add its row. */
export const keyManagement: Readonly<Record<JweAlg, Pick<KeyTypeRow, 'kty'>>> = keyManagementRows

export const allKeyManagement = Object.keys(keyManagement) as readonly JweAlg[]

/** How the content is encrypted (RFC 7518 §5.1). */
export const contentEncryptions = ['A128CBC-HS256', 'A256GCM'] as const
export type JweEnc = (typeof contentEncryptions)[number]

/** Where a client names none (OIDC Registration §2). */
export const defaultContentEncryption: JweEnc = 'A128CBC-HS256'

export const isJweAlg = (value: unknown): value is JweAlg =>
  typeof value === 'string' && Object.hasOwn(keyManagement, value)

/** A public key of somebody else, to which we encrypt. It verifies nothing. */
export interface EncryptionKey {
  readonly alg: JweAlg
  readonly kid: string | undefined
  readonly publicKey: KeyObject
}

/** A signed JWT inside of an encrypted one (RFC 7519 §5.2, §7.1). */
export const encryptJwt = async (
  signed: string,
  { alg, kid, publicKey }: EncryptionKey,
  enc: JweEnc,
): Promise<string> => {
  // Few clients ask for this.
  const { CompactEncrypt } = await import('jose/jwe/compact/encrypt')
  return await new CompactEncrypt(Buffer.from(signed))
    .setProtectedHeader({ alg, enc, cty: 'JWT', ...(kid !== undefined && { kid }) })
    .encrypt(publicKey)
}
