import { ConfigurationError, formatProblem, type Problem } from '../../config/problems.js'
import { checkConfiguration, type CheckedConfiguration } from '../checks/check-configuration.js'
import { loadPages } from '../host/load-pages.js'
import { compareDeployments, type Comparison } from '../operate/compare-deployments.js'
import { examine, type Examination } from '../operate/doctor.js'
import { noLog } from '../observe/log.js'
import { openAuditBeside } from './deployment.js'
import { withoutStacks } from './failure.js'
import { bad, good, print, printError, printJson } from './output.js'
import { printTable, type Cell } from './table.js'

export interface DoctorOptions {
  /** Absent when `compare` is given. */
  readonly config?: string
  readonly compare?: readonly string[]
  readonly json?: true
}

/** Implements `signet doctor`. The exit code is 1 when anything is wrong. */
export const doctor = async ({ config: file, compare: files, json }: DoctorOptions): Promise<void> => {
  const [left, right] = files ?? []
  if (left !== undefined && right !== undefined) return compare(left, right, json === true)
  const wrong: Problem[] = []
  const checked = file === undefined ? undefined : await findConfiguration(file, wrong)
  if (checked === undefined) return printWrong(wrong, { parts: [], keys: [], warnings: [] }, json === true)
  await using audit = await openAuditBeside(checked.config)
  const found = await examine(checked, { clock: Date.now, log: noLog, audit })
  if (found.problems.length > 0) process.exitCode = 1
  if (json) printJson(toJson(found))
  else printExamination(found)
}

/** Adds every problem to `wrong`, with the file that it is in, if there is one. */
const findConfiguration = async (file: string, wrong: Problem[]): Promise<CheckedConfiguration | undefined> => {
  try {
    return await checkConfiguration(file, process.env, loadPages)
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    wrong.push(...withoutStacks(error.problems).map((problem) => ({ file, ...problem })))
    return undefined
  }
}

/** Prints the problems. `empty` is the JSON that the same command prints for configurations that are in order. */
const printWrong = (problems: readonly Problem[], empty: object, json: boolean): void => {
  process.exitCode = 1
  if (json) return printJson({ ...empty, problems })
  for (const { file = '', ...problem } of problems) print(`${file}: ${formatProblem(problem)}`)
}

const oneDigit = (time: number): number => Math.round(time * 10) / 10

const toJson = ({ parts, keys, ...rest }: Examination) => ({
  parts: parts.map(({ latency, ...part }) => ({
    ...part,
    ...(latency !== undefined && { latency_ms: oneDigit(latency) }),
  })),
  keys: keys.map(({ latency, ...key }) => ({
    ...key,
    ...(latency && { latency_ms: { p50: oneDigit(latency.p50), p99: oneDigit(latency.p99) } }),
  })),
  ...rest,
})

const milliseconds = (time: number | undefined): string => (time === undefined ? '' : `${time.toFixed(1)} ms`)

/** Each problem is printed once, below the tables, with its path. */
const verdictCell = (verdict: string, sound: boolean): Cell =>
  sound ? { text: verdict, tone: 'green' } : { text: 'failed', tone: 'red' }

const printExamination = ({ parts, keys, problems, warnings }: Examination): void => {
  printTable(
    ['PART', 'LATENCY', 'VERDICT'],
    parts.map(({ name, latency, verdict, sound }) => [name, milliseconds(latency), verdictCell(verdict, sound)]),
  )
  print('')
  printTable(
    ['KEY', 'SIGNER', 'ALG', 'STATE', 'P50', 'P99', 'VERDICT'],
    keys.map(({ kid, signer, alg, state, latency, verdict, sound }) => [
      kid,
      signer,
      alg,
      state,
      milliseconds(latency?.p50),
      milliseconds(latency?.p99),
      verdictCell(verdict, sound),
    ]),
  )
  for (const warning of warnings) printError(`warning: ${warning}`)
  for (const problem of problems) printError(formatProblem(problem))
}

const compare = async (leftFile: string, rightFile: string, json: boolean): Promise<void> => {
  const wrong: Problem[] = []
  const left = await findConfiguration(leftFile, wrong)
  const right = await findConfiguration(rightFile, wrong)
  if (left === undefined || right === undefined)
    return printWrong(wrong, { tokens: [], differences: [], alike: false }, json)
  await using leftAudit = await openAuditBeside(left.config)
  await using rightAudit = await openAuditBeside(right.config)
  const now = Date.now()
  const common = { clock: () => now, log: noLog }
  const found = await compareDeployments(
    { checked: left, ...common, audit: leftAudit },
    { checked: right, ...common, audit: rightAudit },
  )
  if (!found.alike) process.exitCode = 1
  if (json) printJson(found)
  else printComparison(found, leftFile, rightFile)
}

const printComparison = ({ tokens, differences, alike }: Comparison, left: string, right: string): void => {
  printTable(
    ['TOKEN', 'ALG', 'KID A', 'KID B', 'VERDICT'],
    tokens.map(({ name, alg, left: a, right: b, verdict }) => [name, alg, a, b, verdict]),
  )
  if (differences.length > 0) {
    print('')
    printTable(
      ['TOKEN', 'WHERE', 'A', 'B', 'BECAUSE OF'],
      differences.map((one) => [one.token, one.where, one.left, one.right, one.allowed ? 'the issuers' : '']),
    )
  }
  print(`\nA  ${left}\nB  ${right}`)
  print(alike ? good('They sign alike.') : bad('They do not sign alike.'))
}
