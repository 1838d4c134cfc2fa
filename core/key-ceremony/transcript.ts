import { createHash, createPublicKey } from 'node:crypto'
import type { JwsAlg, PublicJwk } from '../jose/jwk.js'
import type { JsonObject, JsonValue } from '../json.js'
import type { BackendFacts, KeyPurpose } from '../keys/ports.js'
import type { ActedBy } from '../observe/acted-by.js'
import { sha256Of, type ShownPart } from './ceremony-file.js'

/** Somebody who was present, and when this person typed the name. */
export interface Confirmation {
  readonly name: string
  readonly role: string
  /** ISO 8601. */
  readonly confirmed_at: string
}

/** The public half of the new key. Digests in hexadecimal digits, the thumbprint in base64url (RFC 7638). */
export interface PublicHalf {
  readonly jwk: PublicJwk
  readonly thumbprint: string
  readonly spki_sha256: string
}

/** The key that the ceremony made. It is absent in a rehearsal. */
export interface MadeKey {
  readonly ref: string
  readonly made_at: string
  readonly public_key: PublicHalf
  /** The attributes that the backend reports for the key, if any. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>
  /** The signatures of the new key that were made, each of which verified with its public half. */
  readonly verified_signatures: number
}

/** The record of a ceremony, as `transcript.json` has it. Times are ISO 8601. */
export interface Transcript {
  readonly format: 'signet key ceremony'
  readonly version: 1
  readonly id: string
  readonly dry_run: boolean
  readonly issuer: string
  readonly signet: string
  readonly began_at: string
  readonly ended_at: string
  readonly title?: string
  readonly place?: string
  readonly remarks?: string
  /** The digest of the ceremony's file. */
  readonly file_sha256: string
  readonly operator: ActedBy
  readonly present: readonly Confirmation[]
  readonly key: {
    readonly kid: string
    readonly alg: JwsAlg
    readonly purposes: readonly KeyPurpose[]
    readonly signer: string
    /** The module of the signer. */
    readonly module: string
    /** The name given to the backend. */
    readonly name: string
    readonly slot?: string
    /** Tells whether an interrupted ceremony had begun it. */
    readonly resumed: boolean
  }
  readonly made?: MadeKey
  readonly backend?: BackendFacts
  /** SHA-256 of the canonical JSON of each group of facts, in hexadecimal digits. */
  readonly digests: Readonly<Record<string, string>>
  readonly show: readonly ShownPart[]
}

/**
 * Canonical JSON (RFC 8785): members ordered by UTF-16 code units, no blanks. Numbers are as JavaScript writes them.
 */
export const canonicalJson = (value: JsonValue): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${(value as readonly JsonValue[]).map(canonicalJson).join(',')}]`
  const members = Object.entries(value as JsonObject)
    .filter((entry): entry is [string, JsonValue] => entry[1] !== undefined)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
  return `{${members.map(([name, inner]) => `${JSON.stringify(name)}:${canonicalJson(inner)}`).join(',')}}`
}

/** The thumbprint and digest of a public key that the guard has accepted. */
export const describePublicKey = (jwk: PublicJwk, thumbprint: string): PublicHalf => {
  const spki = createPublicKey({ key: { ...jwk }, format: 'jwk' }).export({ format: 'der', type: 'spki' })
  return { jwk: { ...jwk }, thumbprint, spki_sha256: createHash('sha256').update(spki).digest('hex') }
}

/** The parts of a transcript that have digests, by name. */
const digestedParts = ({
  backend = {},
  made,
}: Pick<Transcript, 'backend' | 'made'>): Readonly<Record<string, object>> => ({
  ...backend,
  ...(made?.attributes !== undefined && { attributes: made.attributes }),
  ...(made !== undefined && { public_key: made.public_key }),
})

export const digestsOf = (transcript: Pick<Transcript, 'backend' | 'made'>): Transcript['digests'] =>
  Object.fromEntries(
    Object.entries(digestedParts(transcript)).map(([name, part]) => [
      name,
      sha256Of(canonicalJson(part as JsonObject)),
    ]),
  )
