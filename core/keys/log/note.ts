import { createHash, createPublicKey, verify, type KeyObject } from 'node:crypto'

/**
 * Signed notes (https://c2sp.org/signed-note): a text, an empty line, and lines with signatures. Only those of
 * Ed25519, type 0x01, are made and verified.
 */

const ed25519 = 0x01
const publicKeyBytes = 32
const signatureBytes = 64
const hashBytes = 4
/** The longest note that is read, in bytes. A checkpoint has a few hundred. */
const mostBytes = 16_384
const mostSignatures = 16

/** A key that verifies the notes of a log. */
export interface NoteKey {
  /** The origin of the log. */
  readonly name: string
  /** Four bytes that tell keys with one name apart. */
  readonly hash: Buffer
  readonly publicKey: KeyObject
}

const rawKey = (publicKey: KeyObject): Buffer => Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')

/** The key of a log by its Ed25519 public key. */
export const noteKey = (name: string, publicKey: KeyObject): NoteKey => {
  const typed = Buffer.concat([Buffer.of(ed25519), rawKey(publicKey)])
  const hash = createHash('sha256').update(`${name}\n`).update(typed).digest().subarray(0, hashBytes)
  return { name, hash, publicKey }
}

/** A verifier key as text: `<name>+<hash>+<key>`. */
export const formatNoteKey = ({ name, hash, publicKey }: NoteKey): string =>
  `${name}+${hash.toString('hex')}+${Buffer.concat([Buffer.of(ed25519), rawKey(publicKey)]).toString('base64')}`

/** Reads a verifier key. Undefined when it is none, or not one of Ed25519. */
export const parseNoteKey = (text: string): NoteKey | undefined => {
  const [, name = '', hash = '', encoded = ''] =
    /^([^\s+]{1,512})\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44}=*)$/.exec(text) ?? []
  const typed = Buffer.from(encoded, 'base64')
  if (typed.length !== publicKeyBytes + 1 || typed[0] !== ed25519 || typed.toString('base64') !== encoded)
    return undefined
  try {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: typed.subarray(1).toString('base64url') }
    const key = noteKey(name, createPublicKey({ key: jwk, format: 'jwk' }))
    return key.hash.toString('hex') === hash ? key : undefined
  } catch {
    return undefined
  }
}

/** The note of a text, which ends with a line feed, and one signature of it. */
export const formatNote = (text: string, { name, hash }: NoteKey, signature: Uint8Array): string =>
  `${text}\n\u2014 ${name} ${Buffer.concat([hash, signature]).toString('base64')}\n`

export interface Note {
  /** With the line feed at its end: what is signed. */
  readonly text: string
  readonly signatures: readonly { readonly name: string; readonly hash: Buffer; readonly signature: Buffer }[]
}

/** Reads a note from anywhere. Undefined when it is not in the form of one. */
export const parseNote = (note: string): Note | undefined => {
  const end = note.lastIndexOf('\n\n')
  if (note.length > mostBytes || end === -1 || !note.endsWith('\n')) return undefined
  const lines = note.slice(end + 2, -1).split('\n')
  if (lines.length > mostSignatures) return undefined
  const signatures = lines.map((line) => {
    const [, name = '', encoded = ''] = /^\u2014 ([^\s+]+) ([A-Za-z0-9+/]+=*)$/.exec(line) ?? []
    const bytes = Buffer.from(encoded, 'base64')
    return { name, hash: bytes.subarray(0, hashBytes), signature: bytes.subarray(hashBytes) }
  })
  if (signatures.some(({ name, signature }) => name === '' || signature.length === 0)) return undefined
  return { text: note.slice(0, end + 1), signatures }
}

/** Tells whether this key has signed the note. Lines of other keys are ignored. */
export const isSignedBy = ({ text, signatures }: Note, key: NoteKey): boolean =>
  signatures.some(
    ({ name, hash, signature }) =>
      name === key.name &&
      hash.equals(key.hash) &&
      signature.length === signatureBytes &&
      verify(null, Buffer.from(text), key.publicKey, signature),
  )
