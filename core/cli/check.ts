import { ConfigurationError, formatProblem } from '../../config/problems.js'
import { checkConfiguration, type CheckedConfiguration } from '../checks/check-configuration.js'
import { loadPages } from '../host/load-pages.js'
import { printProblems, withoutStacks } from './failure.js'
import { isSlot } from '../keys/slots/expand-slots.js'
import { good, print, printError, printJson } from './output.js'

export interface CheckOptions {
  readonly config: string
  readonly json?: true
}

/**
 * Implements `signet check`. It prints a line for each problem and exits with 1, or prints what was found to be in
 * order.
 */
export const check = async ({ config: file, json }: CheckOptions): Promise<void> => {
  try {
    const checked = await checkConfiguration(file, process.env, loadPages)
    if (json) printJson({ ok: true, ...summarize(checked), warnings: checked.warnings, problems: [] })
    else printSummary(checked)
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    process.exitCode = 1
    if (json) printJson({ ok: false, file, warnings: [], problems: withoutStacks(error.problems) })
    else printProblems(error.problems, print)
  }
}

const summarize = ({ file, config, clients }: CheckedConfiguration) => ({
  file,
  issuer: config.issuer,
  keys: config.keys.map((key) => ({
    ...(isSlot(key) ? { slot: key.slot, kid: undefined } : { slot: undefined, kid: key.kid }),
    alg: key.alg,
    signer: key.signer,
  })),
  plugins: config.plugins.map(({ use }) => use),
  clients: clients.map(({ client_id }) => client_id),
})

const printSummary = (checked: CheckedConfiguration): void => {
  const { file, issuer, keys, plugins, clients } = summarize(checked)
  for (const warning of checked.warnings) printError(`warning: ${formatProblem(warning)}`)
  print(good(`${file} is in order.`))
  print(`issuer   ${issuer}`)
  print(
    `keys     ${keys.map(({ kid, slot, alg, signer }) => `${kid ?? `slot ${slot}`} (${alg}, ${signer})`).join(', ')}`,
  )
  print(`plugins  ${plugins.join(', ')}`)
  print(`clients  ${clients.join(', ') || 'only those in the store'}`)
}
