import { originOf, formatCheckpoint, parseCheckpoint } from './checkpoint.js'
import type { KeyLogEntry } from './entry.js'
import type { KeyLogHead, LoggedKey } from './head.js'
import { appendEntries, damaged, readHead, writeCheckpoint, type KeyLogStore } from './log-store.js'
import { formatNote, noteKey } from './note.js'
import { openProver } from './read-log.js'
import type { AuditSignatures } from '../audit-signatures.js'

export interface KeyLogOptions {
  readonly store: KeyLogStore
  readonly issuer: string
  readonly signatures: AuditSignatures
}

/** The only writer of the log. Any number of processes may have one. */
export interface KeyLog {
  /** Reads the keys in the log. Throws `Unavailable`. */
  read(): Promise<KeyLogHead>
  /** Appends what `decide` derives from the keys in the log; it is pure. Throws `Unavailable`. */
  append(decide: (keys: readonly LoggedKey[]) => readonly KeyLogEntry[]): Promise<KeyLogHead>
  /**
   * Signs a checkpoint of the entries that `append` or `read` returned, unless there is one. It first makes sure that the log begins with what was
   * signed before. Throws `Unavailable`, also when no key can sign.
   */
  sign(head: KeyLogHead, signal: AbortSignal): Promise<void>
}

export const createKeyLog = ({ store, issuer, signatures }: KeyLogOptions): KeyLog => {
  const origin = originOf(issuer)

  /** A checkpoint of a history that was rewritten would make us a party to it. */
  const demandSigned = async (head: KeyLogHead): Promise<void> => {
    if (head.checkpoint === undefined && head.signed === 0) return
    const before = parseCheckpoint(head.checkpoint ?? '')
    if (before?.size !== head.signed || head.signed > head.size) throw damaged()
    if (!(await openProver(store, head).root(before.size)).equals(before.root)) throw damaged()
  }

  return {
    read: () => readHead(store),
    append: (decide) => appendEntries(store, decide),
    async sign(head, signal) {
      if (head.signed === head.size) return
      await demandSigned(head)
      const text = formatCheckpoint({ origin, size: head.size, root: await openProver(store, head).root(head.size) })
      const { publishedKey, signature } = await signatures.sign('tlog-checkpoint', () => text, { alg: 'EdDSA', signal })
      await writeCheckpoint(store, formatNote(text, noteKey(origin, publishedKey.publicKey), signature), head.size)
    },
  }
}
