import { resolve } from 'node:path'
import { forecastSlots, planWithSlots } from '../administration/key-forecast.js'
import { isoTime } from '../clock.js'
import { loadModules } from '../modules/load-modules.js'
import { planKeys, type KeyPlan } from '../keys/lifecycle/plan.js'
import { expandSlots, slotsOf } from '../keys/slots/expand-slots.js'
import { readDeployment, type DeploymentOptions } from './deployment.js'
import { readKnownKeys } from './known-keys.js'
import { heading, print, printError, printJson } from './output.js'
import { forecastInJson, printForecast } from './plan-slots.js'
import { printTable } from './table.js'

export interface PlanKeysOptions extends DeploymentOptions {
  readonly json?: true
  /** The number of months for which slots are planned. */
  readonly months: number
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
  const modules = await loadModules({ plugins: [], signers: config.signers }, resolve(options.config))
  const forecast = forecastSlots(config, known, { modules, months: options.months }, now)
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
