import { generateKeyPairSync, sign as signWith, type KeyObject } from 'node:crypto'
import type { AuditSignatures } from '../../../core/keys/audit-signatures.js'
import { originOf } from '../../../core/keys/log/checkpoint.js'
import { keyLogSteps, type KeyLogEntry } from '../../../core/keys/log/entry.js'
import type { KeyLogRecord } from '../../../core/keys/log/head.js'
import { createKeyLog } from '../../../core/keys/log/key-log.js'
import type { KeyLogStore } from '../../../core/keys/log/log-store.js'
import { noteKey } from '../../../core/keys/log/note.js'
import { Unavailable } from '../../../core/unavailable.js'

export const issuer = 'https://id.bank.example'
export const origin = originOf(issuer)

/** Ends what a double does: the process was killed. */
export class Killed extends Error {}

/** Called before and after the effect of each write. */
export type Point = (what: string) => void | Promise<void>

/** A store in memory, whose records are JSON as those of real ones. */
export const memoryStore = (records: Map<string, string>, point: Point = () => undefined): KeyLogStore => {
  const find = (id: string) => {
    const text = records.get(id)
    return text === undefined ? undefined : (JSON.parse(text) as KeyLogRecord)
  }
  return {
    find: async (id) => find(id),
    put: async (id, record, { onlyIfAbsent = false } = {}) => {
      await point(`before put ${id}`)
      const isAbsent = !records.has(id)
      if (isAbsent || !onlyIfAbsent) records.set(id, JSON.stringify(record))
      await point(`after put ${id}`)
      return isAbsent || !onlyIfAbsent
    },
    update: async (id, decide) => {
      await point(`before update ${id}`)
      const { result, write } = decide(find(id))
      if (write) records.set(id, JSON.stringify(write.record))
      await point(`after update ${id}`)
      return result
    },
    remove: async (id) => records.delete(id),
    list: async () => [],
  }
}

export const newAuditKey = () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return { privateKey, publicKey, verifier: noteKey(origin, publicKey) }
}

/** Signs with this key, and can be away. */
export const signaturesOf = (
  { privateKey, publicKey }: { readonly privateKey: KeyObject; readonly publicKey: KeyObject },
  signed: string[] = [],
  isAway: () => boolean = () => false,
): AuditSignatures => ({
  async sign(_document, input) {
    if (isAway()) throw new Unavailable('signers.hsm', 'no', 'away')
    const text = input({} as never)
    signed.push(text)
    const signature = signWith(null, Buffer.from(text, 'ascii'), privateKey)
    return { input: text, signature, publishedKey: { publicKey } } as unknown as Awaited<
      ReturnType<AuditSignatures['sign']>
    >
  },
})

/** The entry number `index` of a log that has one for each key of many. */
export const entryOf = (index: number, more: Partial<KeyLogEntry> = {}): KeyLogEntry => ({
  kid: `es-${String(index)}`,
  thumbprint: `thumbprint-${String(index)}`,
  alg: 'ES256',
  purposes: ['access_token', 'id_token'],
  signer: 'signers/pkcs11',
  step: keyLogSteps[0],
  time: '2026-11-26T00:00:00Z',
  ...more,
})

/** Appends this many entries, each of them once. */
export const appendMany = (log: ReturnType<typeof createKeyLog>, from: number, until: number) => {
  const all = Array.from({ length: until - from }, (_, place) => entryOf(from + place))
  return log.append((keys) => {
    const known = new Set(keys.map(({ kid }) => kid))
    return all.filter(({ kid }) => !known.has(kid))
  })
}

export const newLog = (
  records = new Map<string, string>(),
  {
    point,
    key = newAuditKey(),
    signed,
    isAway,
  }: { point?: Point; key?: ReturnType<typeof newAuditKey>; signed?: string[]; isAway?: () => boolean } = {},
) => {
  const store = memoryStore(records, point)
  return { records, store, key, log: createKeyLog({ store, issuer, signatures: signaturesOf(key, signed, isAway) }) }
}

export const never = new AbortController().signal
