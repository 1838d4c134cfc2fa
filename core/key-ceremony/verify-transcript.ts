import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { allAlgorithms } from '../jose/algorithms.js'
import { parseCompactJws, type CompactJws } from '../jose/compact-jws.js'
import { readJwtHeader } from '../jose/jwt-header.js'
import { BadJwk, checkPublicJwk, type GuardedKey } from '../jose/public-key-guard.js'
import { verifySignature } from '../jose/verify-signature.js'
import { isObject } from '../json.js'
import { sha256Of } from './ceremony-file.js'
import { transcriptType } from './sign-transcript.js'
import { digestsOf, type Transcript } from './transcript.js'

/** Bytes. A transcript is a few thousand. */
const longestFile = 1024 * 1024

/** The result of verifying the transcript in a folder. */
export interface TranscriptFindings {
  /** Empty when JSON, text and signature belong together. */
  readonly faults: readonly string[]
  /** The `kid` and thumbprint (RFC 7638) of the key that signed, if the signature verifies. */
  readonly signedBy?: { readonly kid: string; readonly thumbprint: string }
  readonly dryRun?: boolean
  /** The `kid` of the key that the ceremony made. */
  readonly kid?: string
  /** The thumbprint of the key that the ceremony made. Absent for a rehearsal. */
  readonly thumbprint?: string
}

/** Undefined for a file that is missing, no file, too long or not readable. */
const readFileIn = async (folder: string, name: string): Promise<Buffer | undefined> => {
  try {
    await using file = await open(join(folder, name))
    const found = await file.stat()
    return found.isFile() && found.size <= longestFile ? await file.readFile() : undefined
  } catch {
    return undefined
  }
}

const guarded = (jwk: unknown): GuardedKey | undefined => {
  try {
    return checkPublicJwk(jwk, allAlgorithms)
  } catch (error) {
    if (error instanceof BadJwk) return undefined
    throw error
  }
}

/** The key among these that the transcript names, or its own when none are given. */
const findKey = (own: GuardedKey, trusted: readonly unknown[] | undefined): GuardedKey | undefined =>
  trusted === undefined ? own : trusted.map((jwk) => guarded(jwk)).find((key) => key?.thumbprint === own.thumbprint)

const readTranscript = (json: Buffer): Transcript | undefined => {
  try {
    const value: unknown = JSON.parse(json.toString())
    const isOurs =
      isObject(value) &&
      value['format'] === 'signet key ceremony' &&
      isObject(value['key']) &&
      isObject(value['digests'])
    return isOurs ? (value as unknown as Transcript) : undefined
  } catch {
    return undefined
  }
}

/** Undefined for a file that only looks like a transcript, such as one that is nested too deeply. */
const digestsIn = (transcript: Transcript): Transcript['digests'] | undefined => {
  try {
    return digestsOf(transcript)
  } catch {
    return undefined
  }
}

/** Checks that the JSON agrees with its own digests, which the signature alone does not show. */
const checkDigests = (transcript: Transcript): readonly string[] => {
  const digests = digestsIn(transcript)
  if (digests === undefined) return ['transcript.json: it is no transcript']
  const names = new Set([...Object.keys(digests), ...Object.keys(transcript.digests)])
  return [...names]
    .filter((name) => digests[name] !== transcript.digests[name])
    .map((name) => `transcript.json: the digest of ${name} is not that of what it has`)
}

const checkSignature = async (
  { header, payload, signingInput, signature }: CompactJws,
  trusted: readonly unknown[] | undefined,
): Promise<{ readonly faults: readonly string[]; readonly signedBy?: TranscriptFindings['signedBy'] }> => {
  const named = readJwtHeader(header, { types: [transcriptType] })
  const own = guarded(payload['jwk'])
  if (typeof named === 'string') return { faults: [`transcript.jwt: ${named}`] }
  if (own === undefined) return { faults: ['transcript.jwt: it names no key that signed it'] }
  const key = findKey(own, trusted)
  if (key === undefined)
    return {
      faults: [`transcript.jwt: it is signed by a key with the thumbprint ${own.thumbprint}, which is not among yours`],
    }
  const { jwk, publicKey, thumbprint } = key
  if (!(await verifySignature({ alg: named.alg, jwk, publicKey }, signingInput, signature)))
    return { faults: ['transcript.jwt: the signature does not verify'] }
  return { faults: [], signedBy: { kid: named.kid ?? '', thumbprint } }
}

const checkJws = async (
  jwt: Buffer | undefined,
  texts: { readonly json: Buffer | undefined; readonly text: Buffer | undefined },
  transcript: Transcript | undefined,
  trusted: readonly unknown[] | undefined,
): Promise<{ readonly faults: readonly string[]; readonly signedBy?: TranscriptFindings['signedBy'] }> => {
  if (jwt === undefined) return { faults: ['transcript.jwt: missing, so nothing is signed'] }
  const jws = parseCompactJws(jwt.toString('latin1').trimEnd())
  if (jws === undefined) return { faults: ['transcript.jwt: it is no signed JWT'] }
  const { faults, signedBy } = await checkSignature(jws, trusted)
  const { payload } = jws
  const differs = (name: string, data: Buffer | undefined, digest: unknown): string[] =>
    data === undefined || sha256Of(data) === digest ? [] : [`${name}: it is not the file that was signed`]
  const isOther =
    transcript !== undefined &&
    (payload['jti'] !== transcript.id ||
      payload['kid'] !== transcript.key.kid ||
      payload['dry_run'] !== transcript.dry_run ||
      payload['iss'] !== transcript.issuer)
  const other = isOther ? ['transcript.jwt: it is of another ceremony than transcript.json'] : []
  const changed = [
    ...differs('transcript.json', texts.json, payload['json_sha256']),
    ...differs('transcript.txt', texts.text, payload['text_sha256']),
  ]
  return { faults: [...faults, ...changed, ...other], ...(signedBy && { signedBy }) }
}

/**
 * Checks that JSON, text and signature in a folder belong together. `trusted`: the JWKs of which one must have signed;
 * absent: any key may, and the caller compares its thumbprint. Never throws.
 */
export const verifyTranscript = async (folder: string, trusted?: readonly unknown[]): Promise<TranscriptFindings> => {
  const [json, text, jwt] = await Promise.all(
    ['transcript.json', 'transcript.txt', 'transcript.jwt'].map((name) => readFileIn(folder, name)),
  )
  const missing = [
    ...(json === undefined ? ['transcript.json: missing or not readable'] : []),
    ...(text === undefined ? ['transcript.txt: missing or not readable'] : []),
  ]
  const transcript = json && readTranscript(json)
  const unread = json !== undefined && transcript === undefined ? ['transcript.json: it is no transcript'] : []
  const { faults, signedBy } = await checkJws(jwt, { json, text }, transcript, trusted)
  const all = [...missing, ...unread, ...(transcript === undefined ? [] : checkDigests(transcript)), ...faults]
  return {
    faults: all,
    ...(signedBy && { signedBy }),
    ...(transcript !== undefined && { kid: transcript.key.kid, dryRun: transcript.dry_run }),
    ...(transcript?.made !== undefined && { thumbprint: transcript.made.public_key.thumbprint }),
  }
}
