import { ConfigurationError } from '../../config/problems.js'
import { applyDesired, type Applied } from '../administration/apply-desired.js'
import {
  listDesirable,
  planDesired,
  readDesired,
  type DesiredParts,
  type PlannedStep,
} from '../administration/desired.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import type { JsonValue } from '../json.js'
import { localOperator } from '../operators/operator.js'
import { administer, checkDeployment, withStores, type DeploymentOptions } from './deployment.js'
import { readDesiredFiles, writeDesiredFiles } from './desired-files.js'
import { CommandFailed } from './failure.js'
import { bad, good, print, printError, printJson, show } from './output.js'

export interface DesiredOptions extends DeploymentOptions {
  readonly files: string
  readonly prune?: true
  readonly json?: true
}

export interface PlanOptions extends DesiredOptions {
  readonly exitCode?: true
}

/** The exit code of `plan --exit-code` when there is something to apply. */
const hasChanges = 3

const readFiles = async (checked: CheckedConfiguration, folder: string) => {
  const desired = await readDesired(checked, await readDesiredFiles(folder))
  if ('refused' in desired) throw new ConfigurationError(desired.problems)
  return desired
}

const plan = async (
  parts: Pick<DesiredParts, 'config' | 'stores' | 'checked'>,
  { files, prune = false }: { readonly files: string; readonly prune?: boolean },
): Promise<readonly PlannedStep[]> => {
  const steps = await planDesired(parts, await readFiles(parts.checked, files), { prune })
  if ('refused' in steps) throw new ConfigurationError(steps.problems)
  return steps
}

const signs = { create: '+', update: '~', remove: '-', unmanaged: '?' } as const

const count = (steps: readonly PlannedStep[], action: PlannedStep['action']): number =>
  steps.filter((step) => step.action === action).length

const written = (value: JsonValue | undefined): string => (value === undefined ? '(absent)' : JSON.stringify(value))

const printStep = ({ action, kind, id, before, after }: PlannedStep): void => {
  const line = `${signs[action]} ${kind} ${id}${action === 'unmanaged' ? '  (has no file)' : ''}`
  print(action === 'create' ? good(show(line)) : action === 'remove' ? bad(show(line)) : show(line))
  if (action !== 'create' && action !== 'update') return
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)]))
    print(
      action === 'create'
        ? `    ${show(name)}: ${show(written(after[name]))}`
        : `    ${show(name)}: ${show(written(before[name]))} → ${show(written(after[name]))}`,
    )
}

/** Implements `signet plan`. */
export const printPlan = async (options: PlanOptions): Promise<void> => {
  const checked = await checkDeployment(options)
  const { config } = checked
  const { files, prune = false } = options
  const steps = await withStores(config, (stores) => plan({ config, stores, checked }, { files, prune }))
  const isChange = steps.some(({ action }) => action !== 'unmanaged')
  if (options.exitCode && isChange) process.exitCode = hasChanges
  if (options.json) return printJson(steps)
  for (const step of steps) printStep(step)
  const [created, changed, removed, others] = (['create', 'update', 'remove', 'unmanaged'] as const).map((action) =>
    String(count(steps, action)),
  ) as [string, string, string, string]
  print(
    isChange
      ? `${created} to create, ${changed} to change, ${removed} to remove, ${others} without a file`
      : `Nothing to change. ${others} without a file.`,
  )
}

/** Implements `signet apply`. */
export const apply = async (options: DesiredOptions): Promise<void> => {
  const checked = await checkDeployment(options)
  const { files, prune = false } = options
  const result = await administer(checked.config, async (administration, by) => {
    const parts = { ...administration, checked }
    return applyDesired(parts, { by, issuer: localOperator }, await plan(parts, { files, prune }))
  })
  printApplied(result, options)
}

const printApplied = ({ done, stopped }: Applied, { json }: DesiredOptions): void => {
  if (json) printJson({ done, ...(stopped && { stopped }) })
  else {
    for (const { client_secret, ...step } of done) {
      printStep(step)
      if (client_secret !== undefined)
        print(`    client_secret: ${client_secret}  (shown this once: only its hash is kept)`)
    }
    print(done.length === 0 ? 'Nothing changed.' : `${String(done.length)} changed`)
  }
  if (stopped === undefined) return
  const { step, refused, reason } = stopped
  if (json) process.exitCode = 1
  else
    throw new CommandFailed(
      `Stopped at ${step.kind} ${step.id}: ${reason ?? refused}. What is printed above was changed; plan shows the rest.`,
    )
}

export interface ExportOptions extends DeploymentOptions {
  readonly json?: true
}

/** Implements `signet export`. */
export const exportFiles = async (folder: string, options: ExportOptions): Promise<void> => {
  const checked = await checkDeployment(options)
  const { config } = checked
  const names = await writeDesiredFiles(folder, await withStores(config, (stores) => listDesirable({ config, stores })))
  if (options.json) return printJson({ files: names })
  for (const name of names) print(show(name))
  printError(`${String(names.length)} files. Secrets, people and the configuration file are not among them.`)
}
