import { hashBytes, type Hash } from './merkle.js'
import { parseNote, type Note } from './note.js'

/** The statement of a checkpoint about the log (https://c2sp.org/tlog-checkpoint). */
export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: Hash
}

/** The origin of the key log of an issuer: its address, without the scheme (C2SP tlog-tiles, "Parameters"). */
export const originOf = (issuer: string): string => `${issuer.replace(/^https?:\/\//, '')}/keys/log`

/** The text that is signed. */
export const formatCheckpoint = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${String(size)}\n${root.toString('base64')}\n`

/** Reads a checkpoint from anywhere, with its note. Undefined when it is none. No signature is verified. */
export const parseCheckpoint = (text: string): (Checkpoint & { readonly note: Note }) | undefined => {
  const note = parseNote(text)
  if (note === undefined) return undefined
  const [origin = '', written = '', encoded = ''] = note.text.split('\n')
  const size = /^(?:0|[1-9]\d{0,15})$/.test(written) ? Number(written) : NaN
  const root = Buffer.from(encoded, 'base64')
  if (origin === '' || !Number.isSafeInteger(size)) return undefined
  if (root.length !== hashBytes || root.toString('base64') !== encoded) return undefined
  return { origin, size, root, note }
}
