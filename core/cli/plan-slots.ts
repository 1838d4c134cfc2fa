import { isoTime } from '../clock.js'
import type { KeyForecast, SlotForecast } from '../administration/key-forecast.js'
import { signingKey } from '../keys/slots/next-step.js'
import type { ProjectedKey } from '../keys/slots/project-slots.js'
import type { SlotKey } from '../keys/slots/slot.js'
import { bad, heading, print } from './output.js'
import { printTable } from './table.js'

const timesOf = ({ not_before, not_after, made_at }: ProjectedKey): readonly (number | undefined)[] => [
  made_at,
  not_before,
  not_after,
]

const stepOf = ({ step, not_after, expected }: ProjectedKey, now: number): string =>
  expected ? 'expected' : step === 'signing' && not_after !== undefined && not_after <= now ? 'retired' : step

const describeSlot = ({ slot: { slot }, record, waits, keys }: SlotForecast): string => {
  if (record.released === true) return `${slot} was released: "signet keys adopt" takes its signing key back`
  const present = signingKey(record)
  const next = keys[keys.findIndex(({ kid }) => kid === present?.kid) + 1]
  const plan = next === undefined ? '' : `, ${next.kid} from ${isoTime(next.not_before ?? 0)}`
  return `${slot}: ${present?.kid ?? 'no key'} signs${plan}${waits === undefined ? '' : `; ${waits}`}`
}

const describeEnding = ({ kid, ending }: SlotKey): string | undefined =>
  ending &&
  `${kid} was withdrawn; what it signed is being ended: ${String(ending.people)} people and ${String(ending.attestations)} attestations so far`

/** Prints the slots and their backends. An overdue slot is a red line. */
export const printForecast = ({ slots, months }: KeyForecast, now = Date.now()): void => {
  print(heading('Slots'))
  for (const one of slots) {
    const { slot, overdue } = one
    if (overdue === undefined) print(describeSlot(one))
    else print(bad(`${slot.slot} is overdue since ${isoTime(overdue.since)}: ${overdue.reason}`))
    for (const ending of one.record.keys.map(describeEnding)) if (ending !== undefined) print(bad(ending))
  }
  print(`\n${heading('Keys of slots')}`)
  printTable(
    ['SLOT', 'KEY', 'STEP', 'MADE', 'SIGNS FROM', 'UNTIL'],
    slots.flatMap(({ slot, keys }) =>
      keys.map((key) => [
        slot.slot,
        key.kid,
        stepOf(key, now),
        ...timesOf(key).map((time) => (time === undefined ? '' : isoTime(time))),
      ]),
    ),
  )
  print(`\n${heading('What signers hold and do')}`)
  printTable(
    ['MONTH', 'SIGNER', 'KEYS', 'NEW', 'PROBES', 'PROOFS'],
    months.map(({ month, signer, ...counts }) => [
      month,
      signer,
      ...[counts.keys, counts.new_keys, counts.probes, counts.proofs].map(String),
    ]),
  )
  print('')
}

export const forecastInJson = ({ slots, months }: KeyForecast, now = Date.now()) => ({
  slots: slots.map(({ slot, record, waits, overdue, keys }) => ({
    slot: slot.slot,
    signer: slot.signer,
    alg: slot.alg,
    released: record.released === true,
    waits,
    ...(overdue && { overdue: { since: isoTime(overdue.since), reason: overdue.reason } }),
    keys: keys.map((key) => {
      const [made_at, not_before, not_after] = timesOf(key).map((time) => (time === undefined ? time : isoTime(time)))
      return { kid: key.kid, signer: key.signer, alg: key.alg, step: stepOf(key, now), made_at, not_before, not_after }
    }),
  })),
  months,
})
