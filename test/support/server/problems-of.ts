import { ConfigurationError, formatProblem } from '../../../config/problems.js'
import { checkConfiguration, type CheckedConfiguration } from '../../../core/checks/check-configuration.js'
import { loadPages } from '../../../core/host/load-pages.js'
import { configWith } from './config-files.js'

/** What a check reports: each problem with its path, or the warnings. */
export const reportOf = async (check: Promise<CheckedConfiguration>): Promise<string[]> => {
  try {
    return (await check).warnings.map((warning) => `warning ${formatProblem(warning)}`)
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    return error.problems.map(({ path, message }) => `${path}: ${message}`)
  }
}

/** What is reported about this configuration, checked as `signet check` does it. */
export const problemsOf = async (text: string): Promise<string[]> =>
  reportOf(checkConfiguration(await configWith(text), {}, loadPages))
