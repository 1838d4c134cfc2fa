import { isoTime } from '../clock.js'
import type { Config } from '../../config/schema.js'
import { collections } from '../collections/collections.js'
import { findMissingStore } from '../collections/stores.js'
import { planKeys, type KeyPlan } from '../keys/lifecycle/plan.js'
import { readPublications, type KeyPublications } from '../keys/lifecycle/publications.js'
import { expandSlots, slotsOf } from '../keys/slots/expand-slots.js'
import type { ReplicaReport, SlotRecord } from '../keys/slots/slot.js'
import { readReports, readSlots } from '../keys/slots/slot-store.js'
import { Unavailable } from '../unavailable.js'
import { readDeployment, withStores, type DeploymentOptions } from './deployment.js'
import { heading, print, printError, printJson } from './output.js'
import { forecastInJson, forecastSlots, planWithSlots, printForecast } from './plan-slots.js'
import { printTable } from './table.js'

export interface PlanKeysOptions extends DeploymentOptions {
  readonly json?: true
  /** How far ahead slots are planned. */
  readonly months: number
}

/** What the records store has about keys. */
export interface KnownKeys {
  readonly publications: KeyPublications
  readonly slots: ReadonlyMap<string, SlotRecord>
  readonly reports: readonly ReplicaReport[]
}

const none: KnownKeys = { publications: new Map(), slots: new Map(), reports: [] }

/** The plan does not need a store, but is more precise with one. Before the first start nothing was published. */
export const readKnownKeys = async (config: Config): Promise<KnownKeys> => {
  if ((await findMissingStore(config)) !== undefined) return none
  try {
    return await withStores(config, async (stores) => {
      const { publications, keySlots, replicas } = collections(stores)
      return {
        publications: await readPublications(publications),
        slots: await readSlots(keySlots),
        reports: await readReports(replicas),
      }
    })
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error
    printError(`warning: ${error.component}: ${error.message}: the publication times of the keys are unknown`)
    // Without them, the plan cannot tell what a reload will refuse.
    process.exitCode = 1
    return none
  }
}

/** Implements `signet keys plan`. The exit code is 1 when there is a warning, or a slot is overdue. */
export const printPlan = async (options: PlanKeysOptions): Promise<void> => {
  const config = await readDeployment(options)
  const now = Date.now()
  const known = await readKnownKeys(config)
  const { publications, slots } = known
  if (slotsOf(config).length === 0) {
    const plan = planKeys(config, expandSlots(config.keys, slots), publications, now)
    if (plan.warnings.length > 0) process.exitCode = 1
    return options.json ? printJson(toJson(plan)) : printTables(plan, now)
  }
  const forecast = await forecastSlots(config, known, options, now)
  const plan = planWithSlots(config, known, forecast, now)
  if (plan.warnings.length > 0 || forecast.slots.some(({ overdue }) => overdue !== undefined)) process.exitCode = 1
  if (options.json) return printJson({ ...toJson(plan), ...forecastInJson(forecast) })
  printForecast(forecast)
  printTables(plan, now)
}

const printTables = ({ changes, signing, published, warnings }: KeyPlan, now: number): void => {
  const end = (time: number): string => (time === Infinity ? 'for good' : isoTime(time))
  print(heading('Changes'))
  if (changes.length === 0) print('none')
  else
    printTable(
      ['TIME', 'KEY', 'FROM', 'TO'],
      changes.map(({ at, kid, from, to }) => [isoTime(at), kid, from, to]),
    )
  print(`\n${heading('Who signs')}`)
  printTable(
    ['PURPOSE', 'ALG', 'FROM', 'UNTIL', 'KEY'],
    signing.map(({ purpose, alg, from, until, kid }) => [
      purpose,
      alg,
      from === now ? 'now' : isoTime(from),
      end(until),
      kid ?? 'NOBODY',
    ]),
  )
  print(`\n${heading('Published until')}`)
  printTable(
    ['KEY', 'STATE', 'UNTIL'],
    published.map(({ kid, state, until }) => [kid, state, end(until)]),
  )
  for (const warning of warnings) printError(`warning: ${warning}`)
}

/** JSON cannot express infinity, so an entry without an end has no `until`. */
const toJson = ({ changes, signing, published, warnings }: KeyPlan) => {
  const end = (until: number): { until?: string } => (until === Infinity ? {} : { until: isoTime(until) })
  return {
    changes: changes.map(({ at, ...change }) => ({ at: isoTime(at), ...change })),
    signing: signing.map(({ from, until, ...who }) => ({ ...who, from: isoTime(from), ...end(until) })),
    published: published.map(({ until, ...key }) => ({ ...key, ...end(until) })),
    warnings,
  }
}
