import { z } from 'zod'
import {
  allKeyManagement,
  contentEncryptions,
  isJweAlg,
  keyManagement,
  type JweAlg,
  type JweEnc,
} from '../../jose/encryption.js'
import { findEncryptionKeys } from '../../jose/key-set.js'
import type { JsonObject } from '../../json.js'
import { encryptedAnswers, type EncryptedAnswer } from './encryption.js'

/** `…_encrypted_response_alg` (OIDC Registration §2, RFC 9701 §6, JARM §3). */
export const encryptionAlg = z.string().transform((value, context): JweAlg => {
  if (isJweAlg(value)) return value
  const message = `must be one of ${allKeyManagement.join(', ')}: symmetric methods, RSA1_5 and dir are refused`
  context.addIssue({ code: 'custom', message })
  return z.NEVER
})

export type EncryptionMetadata = {
  readonly [Member in `${EncryptedAnswer}_encrypted_response_alg`]?: JweAlg | undefined
} & { readonly [Member in `${EncryptedAnswer}_encrypted_response_enc`]?: JweEnc | undefined }

/** `…_encrypted_response_enc` */
export const contentEncryption = z.enum(contentEncryptions)

interface EncryptionFault {
  readonly path: string
  readonly message: string
}

/** Finds contradictions between members of a client's metadata. The keys behind `jwks_uri` are not fetched. */
export const findEncryptionFaults = (
  metadata: EncryptionMetadata & {
    readonly jwks?: { readonly keys: readonly JsonObject[] } | undefined
    readonly jwks_uri?: string | undefined
    readonly userinfo_signed_response_alg?: string | undefined
  },
): readonly EncryptionFault[] => {
  const { jwks } = metadata
  const hasKeys = 'jwks' in metadata || 'jwks_uri' in metadata
  return encryptedAnswers.flatMap((answer): readonly EncryptionFault[] => {
    const [path, encPath] = [`${answer}_encrypted_response_alg`, `${answer}_encrypted_response_enc`] as const
    const wanted = metadata[path]
    if (wanted === undefined)
      return metadata[encPath] === undefined ? [] : [{ path: encPath, message: `needs ${path} (OIDC Registration §2)` }]
    if (!hasKeys || (jwks !== undefined && findEncryptionKeys(jwks.keys, wanted).length === 0))
      return [{ path, message: `needs a key in jwks with use enc and kty ${keyManagement[wanted].kty}, or jwks_uri` }]
    if (answer === 'userinfo' && metadata.userinfo_signed_response_alg === undefined)
      return [
        { path, message: 'needs userinfo_signed_response_alg, because the answer is signed before it is encrypted' },
      ]
    return []
  })
}
