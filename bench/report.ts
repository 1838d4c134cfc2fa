import Table from 'cli-table3'
import type { BareFigures } from './bare.js'
import { median, type Duel, type Figures } from './compete.js'
import type { MemoryRow } from './enrolment-memory.js'
import type { SignerRow } from './signers.js'
import type { SlowSignerFigures } from './slow-signer.js'

const digits = (value: number, places: number): string =>
  value.toLocaleString('en-US', { minimumFractionDigits: places, maximumFractionDigits: places })

const row = (figures: Figures): string[] => [
  figures.name,
  digits(figures.perSecond, 0),
  digits(figures.p50, 2),
  digits(figures.p99, 2),
  digits(figures.cpuPerRequest, 0),
  digits(figures.resident, 0),
  digits(figures.anonymous, 0),
  digits(figures.generatorBusy * 100, 0),
]

/** By requests, and by processor time, which other load on the machine hardly changes. */
const ofBare = ({ perSecond, cpuPerRequest }: Figures, bare: BareFigures): string => {
  const byTime = (ofAll: number): string => percent(1e6 / ofAll / cpuPerRequest)
  return `of it ${percent(perSecond / bare.perSecond)}, by CPU ${byTime(bare.perSecond)} (aim ${percent(bare.target)}), ${byTime(bare.checkedPerSecond)} with the check of our own signature; ${digits(bare.verifyMicros, 0)} µs to verify, ${digits(bare.signMicros, 0)} µs to sign`
}

const times = (ours: number, theirs: number): string => `× ${digits(ours / theirs, 2)}`

/** Both servers, and the ratio Signet : peer, for each case. */
export const table = (duels: readonly Duel[]): string => {
  const made = new Table({
    head: ['case', 'server', 'req/s', 'p50 ms', 'p99 ms', 'CPU µs/req', 'RSS MiB', 'anon MiB', 'load core %'],
    colAligns: ['left', 'left', 'right', 'right', 'right', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [] },
  })
  for (const { name, target, signet, peer, bare } of duels) {
    const aim = target === undefined ? '' : ` (aim × ${target})`
    made.push([{ content: `${name}${aim}`, rowSpan: peer ? 3 : bare ? 2 : 1 }, ...row(signet)])
    if (bare)
      made.push([
        'cryptography alone',
        digits(bare.perSecond, 0),
        { content: ofBare(signet, bare), colSpan: 6, wordWrap: true },
      ])
    if (peer === undefined) continue
    made.push(row(peer))
    made.push([
      'ratio',
      times(signet.perSecond, peer.perSecond),
      times(signet.p50, peer.p50),
      times(signet.p99, peer.p99),
      times(signet.cpuPerRequest, peer.cpuPerRequest),
      times(signet.resident, peer.resident),
      times(signet.anonymous, peer.anonymous),
      '',
    ])
  }
  return made.toString()
}

const percent = (part: number): string => `${digits(part * 100, 0)} %`

/** Each signer by itself. */
export const signersTable = (rows: readonly SignerRow[]): string => {
  const made = new Table({
    head: ['signer', 'alg', 'signatures/s', 'p50 ms', 'p99 ms', 'event loop', 'CPU µs each', 'library/s', 'of it'],
    colAligns: ['left', 'left', 'right', 'right', 'right', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [] },
  })
  for (const { backend, alg, perSecond, p50, p99, busy, cpuMicros, libraryPerSecond } of rows) {
    const measured = [digits(perSecond, 0), digits(p50, 2), digits(p99, 2), percent(busy), digits(cpuMicros, 0)]
    const alone = libraryPerSecond ? [digits(libraryPerSecond, 0), percent(perSecond / libraryPerSecond)] : ['', '']
    made.push([backend, alg, ...measured, ...alone])
  }
  return made.toString()
}

/** Memory of the service's process after so many enrolments. */
export const memoryTable = (rows: readonly MemoryRow[]): string => {
  const made = new Table({ head: ['enrolments', 'RSS MiB', 'anon MiB'], style: { head: [], border: [] } })
  for (const { enrolments, resident, anonymous } of rows)
    made.push([digits(enrolments, 0), digits(resident, 0), digits(anonymous, 0)])
  return made.toString()
}

/** Changes are medians over the rounds, with minimum and maximum. */
export const slowSignerTable = ({ waiting, rounds, redeemed }: SlowSignerFigures): string => {
  const made = new Table({
    head: ['slow signer', 'p99 ms', 'change', 'least', 'greatest'],
    colAligns: ['left', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [] },
  })
  const changes = (name: 'again' | 'beside'): string[] => {
    const found = rounds.map((round) => round[name] / round.alone - 1)
    return [median(found), Math.min(...found), Math.max(...found)].map(percent)
  }
  const p99 = (name: 'alone' | 'again' | 'beside'): string => digits(median(rounds.map((round) => round[name])), 2)
  made.push(['quick signer alone', p99('alone'), '', '', ''])
  made.push(['alone, once more', p99('again'), ...changes('again')])
  made.push([`beside ${waiting} waiting, ${redeemed} served`, p99('beside'), ...changes('beside')])
  return made.toString()
}
