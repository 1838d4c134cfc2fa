import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { z } from 'zod'
import { parseConfigDocument, type ConfigDocument } from '../../config/document.js'
import { describeIssue, explainIssues, salvage, type Salvaged } from '../../config/explain.js'
import { signingAlg } from '../../config/fields.js'
import { kid, purposes } from '../../config/keys.js'
import type { Problem } from '../../config/problems.js'
import { readText } from '../../config/read-text.js'
import { isPlainText } from '../plain-text.js'

/** The readable transcript can show these sections beside the key's name and the people. The JSON always has all. */
export const shownParts = ['backend', 'attributes', 'public_key', 'digests'] as const
export type ShownPart = (typeof shownParts)[number]

/** Text that a terminal shows as it is: no line breaks, no control characters, nothing invisible. */
const plain = (most: number) =>
  z
    .string()
    .refine(
      (written) => isPlainText(written, most),
      `must be 1 to ${String(most)} visible characters in one line, without repeated blanks`,
    )

const person = z.strictObject({
  name: plain(80).describe('The full name, which the person types to confirm.'),
  role: plain(80).describe('What the person is there for: `security officer`, `witness`.'),
})

/** A ceremony as its file describes it. See docs/signers.md, "Ceremonies". */
const ceremonyFile = z.strictObject({
  title: plain(200).optional(),
  place: plain(200).optional(),
  remarks: plain(1000).optional(),
  signer: plain(200),
  slot: plain(64).optional(),
  kid: kid.optional(),
  alg: signingAlg.optional(),
  ref: plain(512).optional(),
  purposes: purposes.unwrap().optional(),
  present: z.array(person).min(1, 'must name at least one person').max(20),
  show: z.array(z.enum(shownParts)).prefault([...shownParts]),
})

export type CeremonyFile = z.infer<typeof ceremonyFile>

/** The file as far as it could be understood. */
export interface CeremonyReading {
  readonly file: Salvaged<CeremonyFile>
  readonly problems: readonly Problem[]
  /** The SHA-256 hash of the file, in hexadecimal digits. */
  readonly sha256: string
  /** Adds the lines of the file to problems that are found later. */
  locate(problems: readonly Problem[]): readonly Problem[]
}

/** Refuses members of a fixed key on a slot and the reverse, so that none is silently ignored. */
const checkForm = ({ slot, kid: fixed, alg, ref, purposes: named }: Salvaged<CeremonyFile>): readonly Problem[] => {
  if (slot !== undefined && fixed !== undefined)
    return [{ path: 'kid', message: 'is for a key without a slot: name either slot or kid' }]
  if (slot !== undefined) {
    const given = { ref, purposes: named }
    return Object.entries(given).flatMap(([path, value]) =>
      value === undefined ? [] : [{ path, message: 'is what the slot says: remove it' }],
    )
  }
  if (fixed === undefined) return [{ path: '', message: 'names neither a slot nor a kid' }]
  return alg === undefined ? [{ path: 'alg', message: 'is required for a key without a slot' }] : []
}

const checkNames = ({ present = [] }: Salvaged<CeremonyFile>): readonly Problem[] =>
  present.flatMap((one, index) => {
    const name = one?.name?.toLowerCase()
    const first = present.findIndex((other) => other?.name?.toLowerCase() === name)
    if (name === undefined || first === index) return []
    return [{ path: `present[${String(index)}].name`, message: `is also the name of present[${String(first)}]` }]
  })

const inLines = ({ lines }: ConfigDocument, problems: readonly Problem[]): readonly Problem[] =>
  problems
    .map((problem) => (problem.line === undefined ? { ...problem, ...lines.get(problem.path) } : problem))
    .toSorted((left, right) => (left.line ?? 0) - (right.line ?? 0))

/** The SHA-256 of a text, in hexadecimal digits. */
export const sha256Of = (data: string | Uint8Array): string => createHash('sha256').update(data).digest('hex')

/** Reads the file of a ceremony and finds everything that is wrong with it by itself. Never throws. */
export const readCeremony = async (path: string): Promise<CeremonyReading> => {
  const { text: source, fault } = await readText(resolve(path))
  if (fault !== undefined)
    return { file: {}, problems: [{ path: '', message: fault }], sha256: '', locate: (problems) => problems }
  const document = parseConfigDocument(source)
  const sha256 = sha256Of(source)
  const locate = (problems: readonly Problem[]) => inLines(document, problems)
  if (document.value === undefined) return { file: {}, problems: document.problems, sha256, locate }
  const parsed = ceremonyFile.safeParse(document.value, { error: describeIssue })
  const file = (parsed.success ? parsed.data : (salvage(ceremonyFile, document.value) ?? {})) as Salvaged<CeremonyFile>
  const explained = parsed.success ? [] : explainIssues(ceremonyFile, parsed.error.issues)
  // A form that could not be read must not be said to lack what it has.
  const known = explained.length > 0 ? [] : checkForm(file)
  return { file, problems: locate([...document.problems, ...explained, ...known, ...checkNames(file)]), sha256, locate }
}
