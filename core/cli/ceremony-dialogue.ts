import { createInterface, type Interface } from 'node:readline'
import { isoTime } from '../clock.js'
import { CeremonyRefused } from '../key-ceremony/ceremony-refused.js'
import type { CeremonyPlan } from '../key-ceremony/hold-ceremony.js'
import type { Confirmation } from '../key-ceremony/transcript.js'
import { backendSections, headline, introduction, renderSections } from '../key-ceremony/transcript-text.js'
import { show } from './output.js'

/** A person may mistype the name this many times. */
const mostAttempts = 3

/** Returns the text that people see before they confirm, in lines of at most 80 characters. `head` styles headings. */
export const describePlan = (plan: CeremonyPlan, out: string, head: (title: string) => string): readonly string[] => {
  const { auditor } = plan
  const signed = auditor === undefined ? 'the new key' : `${auditor.kid} (${auditor.alg})`
  const isUnsigned = auditor === undefined && plan.dry_run
  const present = plan.present.map(({ name, role }) => [name, role] as const)
  return [
    head(headline(plan.dry_run)),
    ...renderSections(
      [
        ...introduction(plan),
        ...backendSections(plan.backend),
        {
          title: 'The transcript',
          rows: [
            ['Folder', out],
            ['Signed by', isUnsigned ? 'nobody: the key of this ceremony is the first that could' : signed],
          ],
        },
        { title: 'Present', rows: present },
      ],
      head,
    ),
    '',
  ]
}

/** The lines of standard input, one at a time. A terminal's Ctrl+C and Ctrl+D end them. */
const openLines = (): { readonly next: () => Promise<string | undefined>; readonly close: () => void } => {
  const lines: Interface = createInterface({
    input: process.stdin,
    output: process.stderr,
    terminal: process.stdin.isTTY === true,
  })
  lines.on('SIGINT', () => lines.close())
  const each = lines[Symbol.asyncIterator]()
  return {
    async next() {
      const line = await each.next()
      return line.done === true ? undefined : line.value
    },
    close: () => lines.close(),
  }
}

/** The spelling of a name is that of the file; a keyboard may compose its letters otherwise. */
const isSame = (typed: string, name: string): boolean => typed.trim().normalize('NFC') === name

/**
 * Asks each person to type the own full name, in the order of the file. Throws `CeremonyRefused` when one does not.
 */
export const askPeople = async (present: CeremonyPlan['present']): Promise<readonly Confirmation[]> => {
  const lines = openLines()
  const confirmed: Confirmation[] = []
  try {
    process.stderr.write('Each person types their full name to confirm.\n')
    for (const { name, role } of present) {
      let isConfirmed = false
      for (let attempt = 0; attempt < mostAttempts && !isConfirmed; attempt++) {
        process.stderr.write(attempt === 0 ? `${show(name)}, ${show(role)}: ` : `That is another name. ${show(name)}: `)
        const typed = await lines.next()
        // Only a terminal shows the end of the line that was typed.
        if (typed === undefined || !process.stdin.isTTY) process.stderr.write('\n')
        if (typed === undefined)
          throw new CeremonyRefused('The input ended before everybody had confirmed: no key was made.')
        isConfirmed = isSame(typed, name)
      }
      if (!isConfirmed) throw new CeremonyRefused('A person did not confirm: no key was made.')
      confirmed.push({ name, role, confirmed_at: isoTime(Date.now()) })
    }
    return confirmed
  } finally {
    lines.close()
  }
}
