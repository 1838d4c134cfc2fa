import { pageSubjectRecords, subjectRecordId } from '../../oauth/subjects/subject-records.js'
import type { Clock } from '../../clock.js'
import type { RecordStore } from '../../storage/ports.js'
import type { Principal } from '../ports.js'
import { principalDigest } from '../principal-digest.js'
import { setBits } from './bits.js'
import type { StatusIndex } from './indexes.js'

/** Where the status of one attestation is, and which key it is for. Kept until the attestation expires. */
export interface StatusEntry extends StatusIndex {
  readonly jkt: string
  /** When it was assigned, in milliseconds since the epoch. Entries of earlier versions lack it. */
  readonly at?: number
}

export interface TokenStatusOptions {
  /** Keyed by principal. */
  readonly entries: RecordStore<StatusEntry>
  readonly bits: RecordStore<string>
  /** Returns an unused index. Throws `Unavailable`. */
  readonly nextIndex: () => Promise<StatusIndex>
  readonly tokenSeconds: number
  readonly clock: Clock
  /** Called with revocations made here, so that this process need not query them. */
  readonly revoked?: ((list: string, indexes: readonly number[]) => void) | undefined
}

/** The status of attestations that have not expired. Both methods throw `Unavailable`. */
export interface TokenStatus {
  /**
   * Assigns a new index to an attestation that is about to be issued, and records it under its principal. Call it
   * before checking whether the principal may have the attestation, so that a revocation either finds the index or
   * makes that check fail.
   */
  assign(principal: Principal, jkt: string): Promise<StatusIndex>
  /** Revokes attestations of a principal permanently: those for keys that `isMeant` accepts, by default all. */
  revoke(principal: Principal, isMeant?: (jkt: string) => boolean): Promise<void>
}

const pageSize = 500

/** Revokes attestations permanently. Throws `Unavailable`; a repetition finds what is missing. */
export const revokeEntries = async (
  { entries, bits, revoked }: Pick<TokenStatusOptions, 'entries' | 'bits' | 'revoked'>,
  meant: readonly { readonly id: string; readonly record: StatusEntry }[],
): Promise<void> => {
  const all = meant.map(({ record }) => record)
  for (const list of new Set(all.map((entry) => entry.list))) {
    const indexes = all.filter((entry) => entry.list === list).map(({ idx }) => idx)
    await setBits(bits, list, indexes)
    revoked?.(list, indexes)
  }
  // The bits are set first, so that an entry whose bit is missing is still there.
  await Promise.all(meant.map(({ id }) => entries.remove(id)))
}

export const createTokenStatus = (options: TokenStatusOptions): TokenStatus => {
  const { entries, nextIndex, tokenSeconds, clock } = options

  return {
    async assign(principal, jkt) {
      const { list, idx } = await nextIndex()
      const id = subjectRecordId(principalDigest(principal), `${list}-${idx.toString(36)}`)
      await entries.put(id, { list, idx, jkt, at: clock() }, { ttlSeconds: tokenSeconds })
      return { list, idx }
    },
    async revoke(principal, isMeant = () => true) {
      const owner = principalDigest(principal)
      for (let after: string | undefined; ;) {
        const page = await pageSubjectRecords(entries, owner, after, pageSize)
        const meant = page.entries.filter(({ record }) => isMeant(record.jkt))
        await revokeEntries(
          options,
          meant.map(({ name, record }) => ({ id: subjectRecordId(owner, name), record })),
        )
        after = page.entries.at(-1)?.name
        if (!page.more) return
      }
    },
  }
}
