import { isObject, type JsonObject, type JsonValue } from '../json.js'
import { readJsonLines } from './json-records.js'

/** What one key has signed, according to the audit log. */
export interface SignatureCount {
  /** The `ref` of the key for its probes, where it differs. */
  readonly kid: string
  readonly signer: string
  /** Tokens, attestations and signed answers, including those of comparisons. */
  readonly issued: number
  /** Signatures that only showed that the key works. */
  readonly probes: number
  /** Times of the first and the last counted line. */
  readonly first: string
  readonly last: string
}

export interface CountOptions {
  readonly audit: readonly string[]
  /** Milliseconds since the epoch. Lines outside the range are not counted. */
  readonly from?: number
  readonly until?: number
}

const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

/** Each signature that one line records. A probe names its key as the backend does. */
export const signaturesOf = (line: JsonObject): readonly { readonly kid: string; readonly signer: string }[] => {
  const { signatures } = line
  const list: readonly JsonValue[] = Array.isArray(signatures) ? signatures : [line]
  return list.flatMap((one) => {
    if (!isObject(one)) return []
    const { kid, ref, signer, digest, reference } = one
    const name = text(kid) || text(ref)
    return name !== '' && text(digest) + text(reference) !== '' ? [{ kid: name, signer: text(signer) }] : []
  })
}

/** Counts line by line. */
export interface SignatureCounter {
  add(line: JsonObject): void
  counts(): readonly SignatureCount[]
}

export const createSignatureCounter = (): SignatureCounter => {
  const counts = new Map<string, SignatureCount>()
  return {
    add(line) {
      const time = text(line['time'])
      const isProbe = line['event'] === 'key.proved'
      for (const { kid, signer } of signaturesOf(line)) {
        const name = JSON.stringify([kid, signer])
        const before = counts.get(name)
        counts.set(name, {
          kid,
          signer,
          issued: (before?.issued ?? 0) + (isProbe ? 0 : 1),
          probes: (before?.probes ?? 0) + (isProbe ? 1 : 0),
          first: before === undefined || time < before.first ? time : before.first,
          last: before === undefined || time > before.last ? time : before.last,
        })
      }
    },
    counts: () => [...counts.values()],
  }
}

/**
 * Counts the signatures in the audit log by key, for comparison with the counter or log of an HSM. Throws
 * `RecordsUnreadable`, or the system's error for a file that cannot be read.
 */
export const countSignatures = async (options: CountOptions): Promise<readonly SignatureCount[]> => {
  const { audit, from = -Infinity, until = Infinity } = options
  const counter = createSignatureCounter()
  for (const file of audit)
    for await (const line of readJsonLines(file)) {
      const at = Date.parse(text(line['time']))
      if (at >= from && at < until) counter.add(line)
    }
  return counter.counts()
}
