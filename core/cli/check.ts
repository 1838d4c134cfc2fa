import { ConfigurationError, formatProblem } from '../../config/problems.js'
import { checkConfiguration } from '../host/checks/check-configuration.js'
import { print, printError } from './output.js'

/** `signet check`: a line for each problem and exit code 1, or what was found to be in order. */
export const check = async (options: { readonly config: string }): Promise<void> => {
  try {
    const { file, config, clients, warnings } = await checkConfiguration(options.config, process.env)
    for (const warning of warnings) printError(`warning: ${formatProblem(warning)}`)
    const keys = config.keys.map((key) => `${key.kid} (${key.alg}, ${key.signer})`)
    print(`${file} is in order.`)
    print(`issuer   ${config.issuer}`)
    print(`keys     ${keys.join(', ')}`)
    print(`plugins  ${config.plugins.map((plugin) => plugin.use).join(', ')}`)
    print(`clients  ${clients.map((client) => client.client_id).join(', ') || 'only those in the store'}`)
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    for (const problem of error.problems) print(formatProblem(problem))
    process.exitCode = 1
  }
}
