import { verifyAudit, type AuditVerification } from '../../observe/audit-verify.js'
import type { ChainProof } from './pack.js'

/** The lines of each file of the log, as one reads the extract on. `starts` as in `ChainProof.files`. */
const sectionsOf = function* (lines: AsyncGenerator<string>, starts: readonly number[]) {
  let read = 0
  const section = async function* (end: number): AsyncGenerator<string> {
    while (read < end) {
      const next = await lines.next()
      if (next.done === true) return
      read++
      yield next.value
    }
  }
  for (const index of starts.keys()) yield section(starts[index + 1] ?? Infinity)
}

/** The line of another writer that this one names, if it is the first of its writer or of its file. */
const namedBy = (text: string): string | undefined =>
  /^.{0,64}"seq":1,"prev":"([\w-]{43})"/.exec(text)?.[1] ??
  (text.includes('"event":"audit.continued"') ? /"head":"([\w-]{43})"/.exec(text)?.[1] : undefined)

export interface ExtractFaults {
  readonly found: AuditVerification
  /** In words, empty if no line was changed, moved or removed. */
  readonly faults: readonly string[]
  /** The last lines of these writers are proved by the signature of the pack alone. */
  readonly open: readonly string[]
}

const count = (lines: number): string => `${String(lines)} ${lines === 1 ? 'line' : 'lines'}`

/** Verifies the lines of an extract by the proof of their chain. */
export const verifyExtract = async (lines: AsyncGenerator<string>, proof: ChainProof): Promise<ExtractFaults> => {
  const { before, after, named } = proof
  const proved = new Set(named)
  const watched = async function* (): AsyncGenerator<string> {
    for await (const text of lines) {
      const hash = namedBy(text)
      if (hash !== undefined) proved.add(hash)
      yield text
    }
  }
  const found = await verifyAudit(sectionsOf(watched(), proof.files), { before, heads: named })
  const faults = found.faults.map(
    ({ line, writer, kind, message }) =>
      `line ${String(line)}${writer === undefined ? '' : ` of ${writer}`}: ${kind}: ${message}`,
  )
  const ends = new Map<string, { readonly seq: number; readonly head: string }>([
    ...before.writers.map((end) => [end.writer, end] as const),
    ...found.writers.map(({ writer, last: seq, head }) => [writer, { seq, head }] as const),
  ])
  const broken = new Set(found.faults.map(({ writer }) => writer))
  const ended: string[] = []
  for (const { writer, seq, prev } of after) {
    const end = ends.get(writer)
    ends.delete(writer)
    if (broken.has(writer)) continue
    if (end === undefined || end.seq + 1 !== seq)
      ended.push(`${writer}: its lines before seq ${String(seq)}, which follows the range, are not all there`)
    else if (end.head !== prev) ended.push(`${writer}: seq ${String(end.seq)} is not the line that its next one names`)
  }
  if (found.lines !== proof.lines) ended.push(`there are ${count(found.lines)}, and should be ${count(proof.lines)}`)
  const lost = found.lostHeads.map((head) => `a later line names one that is not there: ${head}`)
  const open = [...ends].flatMap(([writer, { head }]) => (proved.has(head) ? [] : [writer]))
  return { found, faults: [...faults, ...ended, ...lost], open }
}
