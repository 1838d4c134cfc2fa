import { decodeBundle, formatTilePath, tilesOf } from '../../../core/keys/log/tiles.js'
import { decodeEntry, type KeyLogEntry } from '../../../core/keys/log/entry.js'
import { parseCheckpoint } from '../../../core/keys/log/checkpoint.js'

type Json = Record<string, unknown>

/** The key that signs the log of test servers. */
export const auditKey = { kid: 'audit', alg: 'EdDSA', signer: 'local', ref: 'audit.pem', purposes: ['audit'] }

export const withKeyLog = (written: Json): Json => ({
  ...written,
  key_log: true,
  keys: [...(written['keys'] as Json[]), auditKey],
})

const fetchBytes = async (url: string): Promise<Buffer> => {
  const reply = await fetch(url)
  if (reply.status !== 200) throw new Error(`${url} answered ${String(reply.status)}`)
  return Buffer.from(await reply.arrayBuffer())
}

/** The checkpoint that a server serves, and all entries that it covers. */
export const fetchLog = async (origin: string) => {
  const note = (await fetchBytes(`${origin}/keys/log/checkpoint`)).toString()
  const checkpoint = parseCheckpoint(note)
  if (checkpoint === undefined) throw new Error('no checkpoint')
  const texts: Buffer[] = []
  for (const tile of tilesOf('entries', checkpoint.size))
    texts.push(...(decodeBundle(await fetchBytes(`${origin}/keys/log/${formatTilePath(tile)}`), tile.width) ?? []))
  const entries = texts.map((text) => decodeEntry(text.toString()) as KeyLogEntry)
  return { note, checkpoint, texts, entries }
}

/** What the log says, in short: `es256 published`. */
export const stepsIn = (entries: readonly KeyLogEntry[]): readonly string[] =>
  entries.map(({ kid, step }) => `${kid} ${step}`)
