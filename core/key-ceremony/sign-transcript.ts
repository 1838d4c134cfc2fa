import { createAuditSignatures } from '../keys/audit-signatures.js'
import type { SigningRequest } from '../keys/ports.js'
import type { AuditLog } from '../observe/audit.js'
import { serialize, signingInput } from '../tokens/compact-serializer.js'
import type { AuditRing } from '../keys/slots/audit-ring.js'
import { sha256Of } from './ceremony-file.js'
import type { Transcript } from './transcript.js'

export const transcriptType = 'key-ceremony+jwt'
/** Milliseconds for the signature. */
const signMs = 10_000

/** The JSON and the text of a transcript, as its files have them. */
export interface TranscriptTexts {
  readonly json: string
  readonly text: string
}

/**
 * Signs both forms of a transcript with a key for auditors: a compact JWS (RFC 7515 §7.1) over their digests, which
 * names the key that signed. Throws `Unavailable`.
 */
export const signTranscript = async (
  { ring, alg }: AuditRing,
  { id, issuer, dry_run, ended_at, key }: Transcript,
  { json, text }: TranscriptTexts,
  audit: AuditLog,
): Promise<string> => {
  const claims = {
    ...{ iss: issuer, iat: Math.floor(Date.parse(ended_at) / 1000), jti: id, dry_run, kid: key.kid },
    ...{ json_sha256: sha256Of(json), text_sha256: sha256Of(text) },
  }
  const input: SigningRequest['input'] = ({ kid, alg: signs, signer }) =>
    signingInput({ kid, alg: signs, typ: transcriptType }, { ...claims, jwk: { ...signer.publicJwk } })
  const signatures = createAuditSignatures({ ring, audit })
  const made = await signatures.sign(transcriptType, input, { alg, signal: AbortSignal.timeout(signMs) })
  return serialize(made.input, made.signature)
}
