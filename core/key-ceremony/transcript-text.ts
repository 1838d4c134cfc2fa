import type { BackendFacts } from '../keys/ports.js'
import { escapeUnseen } from '../plain-text.js'
import type { Transcript } from './transcript.js'

/** A heading with rows of a label and a text. */
export interface Section {
  readonly title: string
  readonly rows: readonly (readonly [label: string, text: string])[]
}

/** Characters in a line, as on the smallest terminal. */
export const lineWidth = 80
const indent = '  '
const longestLabel = 24

/** Breaks between words, and within a word that is longer than a line. */
const wrap = (text: string, width: number): readonly string[] => {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line)
      line = ''
    }
    line = line === '' ? word : `${line} ${word}`
    while (line.length > width) {
      // A character of two code units stays whole.
      const end = width - (/[\uD800-\uDBFF]/.test(line.charAt(width - 1)) ? 1 : 0)
      lines.push(line.slice(0, end))
      line = line.slice(end)
    }
  }
  return [...lines, line]
}

const renderRow = (label: string, text: string, width: number): readonly string[] => {
  const lines = wrap(escapeUnseen(text), lineWidth - indent.length - width - 2)
  const name = escapeUnseen(label)
  // A label that is longer than its column has a line of its own.
  const [head, rest] = name.length > width ? [[`${indent}${name}`], lines] : [[], lines]
  const first = head.length > 0 ? '' : name
  return [
    ...head,
    ...rest.map((line, index) => `${indent}${(index === 0 ? first : '').padEnd(width)}  ${line}`.trimEnd()),
  ]
}

/** Lines of at most 80 characters; the texts of a section are in one column. `head` styles the headings. */
export const renderSections = (
  sections: readonly Section[],
  head: (title: string) => string = (title) => title,
): readonly string[] =>
  sections.flatMap(({ title, rows }) => {
    if (rows.length === 0) return []
    const width = Math.min(longestLabel, Math.max(...rows.map(([label]) => label.length)))
    return ['', head(title), ...rows.flatMap(([label, text]) => renderRow(label, text, width))]
  })

const factRows = (facts: Readonly<Record<string, unknown>> = {}): Section['rows'] =>
  Object.entries(facts).map(([name, value]) => [name, String(value)])

/** One section for each group of facts, so that a digest fits into a line. */
export const backendSections = (facts: BackendFacts): readonly Section[] =>
  Object.entries(facts).map(([group, values]) => ({ title: `What holds the key: ${group}`, rows: factRows(values) }))

type Described = Pick<Transcript, 'title' | 'place' | 'remarks' | 'issuer'>

const eventRows = ({ title, place, remarks, issuer }: Described): Section['rows'] =>
  Object.entries({ Title: title, Place: place, Issuer: issuer, Remarks: remarks }).flatMap(([label, text]) =>
    text === undefined ? [] : [[label, text] as const],
  )

/** The new key, as described before and after it is made. */
export const keyRows = ({
  kid,
  slot,
  alg,
  purposes,
  signer,
  module,
  name,
  resumed,
}: Transcript['key']): Section['rows'] => [
  ['Key', slot === undefined ? `${kid}, a fixed key` : `${kid} of the slot ${slot}`],
  ['Algorithm', alg],
  ['Purposes', purposes.join(', ')],
  ['Signer', `${signer} (${module})`],
  ['Name there', name],
  ...(resumed ? [['Begun before', 'yes: an interrupted ceremony is continued'] as const] : []),
]

/** The headline and who meets for what, as both the command and the transcript show them. */
export const introduction = (
  about: Described & { readonly dry_run: boolean; readonly key: Transcript['key'] },
): readonly Section[] => [
  { title: 'The ceremony', rows: eventRows(about) },
  { title: about.dry_run ? 'The key that is not made' : 'The key', rows: keyRows(about.key) },
]

export const headline = (dryRun: boolean): string =>
  dryRun ? `${'KEY CEREMONY'.padEnd(lineWidth - 23)}DRY RUN: no key is made` : 'KEY CEREMONY'

/** The readable transcript. Pure: the same transcript always has the same text. */
export const renderTranscript = (transcript: Transcript): string => {
  const { made, show, backend = {}, present, dry_run: dryRun } = transcript
  const shows = (part: (typeof show)[number]): boolean => show.includes(part)
  const sections: readonly Section[] = [
    ...introduction(transcript),
    { title: 'Confirmed by', rows: present.map(({ name, role, confirmed_at: at }) => [at, `${name}, ${role}`]) },
    ...(shows('backend') ? backendSections(backend) : []),
    {
      title: 'What was made',
      rows:
        made === undefined
          ? []
          : [
              ['Made', made.made_at],
              ['Reference', made.ref],
              [
                'Signatures',
                `${String(made.verified_signatures)} of ${String(made.verified_signatures)} verified with the public key`,
              ],
            ],
    },
    { title: 'What the backend says of the key', rows: shows('attributes') ? factRows(made?.attributes) : [] },
    {
      title: 'The public key',
      rows:
        made === undefined || !shows('public_key')
          ? []
          : [
              ['Thumbprint', made.public_key.thumbprint],
              ['SPKI SHA-256', made.public_key.spki_sha256],
              ...factRows(made.public_key.jwk),
            ],
    },
    { title: 'SHA-256 of the canonical JSON of each part', rows: shows('digests') ? factRows(transcript.digests) : [] },
    {
      title: 'The record',
      rows: [
        ['Began', transcript.began_at],
        ['Ended', transcript.ended_at],
        [
          'Operator',
          Object.entries(transcript.operator)
            .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
            .join(', '),
        ],
        ['Signet', transcript.signet],
        ['File SHA-256', transcript.file_sha256],
        ['Id', transcript.id],
      ],
    },
  ]
  return [headline(dryRun), ...renderSections(sections), ''].join('\n')
}
