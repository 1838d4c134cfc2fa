import Table from 'cli-table3'
import type { Duel, Figures } from './compete.js'

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

const times = (ours: number, theirs: number): string => `× ${digits(ours / theirs, 2)}`

/** Both servers and the ratio Signet : peer for each case. */
export const table = (duels: readonly Duel[]): string => {
  const made = new Table({
    head: ['case', 'server', 'req/s', 'p50 ms', 'p99 ms', 'CPU µs/req', 'RSS MiB', 'anon MiB', 'load core %'],
    colAligns: ['left', 'left', 'right', 'right', 'right', 'right', 'right', 'right', 'right'],
    style: { head: [], border: [] },
  })
  for (const { name, target, signet, peer } of duels) {
    const aim = target === undefined ? '' : ` (aim × ${target})`
    made.push([{ content: `${name}${aim}`, rowSpan: 3 }, ...row(signet)])
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
