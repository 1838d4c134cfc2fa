import { isRefusal, type Refusal } from '../administration/administration.js'
import { issueFactor, withdrawFactor, type SecondFactors } from '../administration/enrolments.js'
import type { IssuedFactor, PrincipalType } from '../attestation/ports.js'
import { administerPlugins, checkDeployment, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printError, printFields, printJson, printJsonLine } from './output.js'
import { counted } from './person.js'
import { readPrincipalList } from './principal-list.js'
import { toPrincipal, toWire } from './principal-names.js'
import { drawQrCode } from './qr-code.js'

export interface FactorOptions extends DeploymentOptions {
  readonly kind: string
  readonly subject: string
  readonly principalId: string
  readonly type: PrincipalType
  readonly json?: true
}

/**
 * Implements `signet principals issue`. The factor is printed only this once; the store gets it hashed or encrypted.
 */
export const printIssuedFactor = async (options: FactorOptions): Promise<void> => {
  const { lines, uri } = await makeFactor(options)
  if (options.json) return printJson({ ...lines, ...(uri !== undefined && { uri }) })
  printFields({ ...lines, ...(uri !== undefined && { uri }) })
  const picture = uri === undefined ? undefined : drawQrCode(uri, process.stdout)
  if (picture !== undefined) print(picture)
  print('Shown only once.')
}

/** Issues the factor that a principal enrols with. Throws `CommandFailed`. */
export const makeFactor = async (options: FactorOptions): Promise<IssuedFactor> => {
  const principal = toPrincipal(options)
  const { kind } = options
  const checked = await checkDeployment(options)
  return await administerPlugins(checked, async (administration, by, { secondFactors: factors }) => {
    const result = await issueFactor(administration, by, { factors, kind, principal })
    if (isRefusal(result)) throw factorFailure(result, kind, factors, 'issue')
    return result
  })
}

const factorFailure = (
  { refused }: Refusal<'no_kind' | 'unable' | 'nothing'>,
  kind: string,
  factors: SecondFactors,
  verb: 'issue' | 'withdraw',
): CommandFailed => {
  if (refused === 'nothing') return new CommandFailed('There is nothing to withdraw.')
  if (refused === 'unable') return new CommandFailed(`The second factor ${kind} cannot ${verb} anything.`)
  const there = [...factors.keys()].join(', ')
  return new CommandFailed(
    there === ''
      ? 'No plugin of the configuration provides second factors.'
      : `No plugin provides the second factor ${kind}. There are: ${there}`,
  )
}

/** The number that are issued concurrently. Each takes several writes. */
const atATime = 20

/**
 * Implements `signet principals issue --from`, which prints one JSON object per line for the principals of the file,
 * in its order. It checks the whole file before it issues anything.
 */
export const issueFactors = async (file: string, options: BulkOptions): Promise<void> => {
  const principals = await readPrincipalList(file, options.type)
  const checked = await checkDeployment(options)
  const { kind } = options
  await administerPlugins(checked, async (administration, by, { secondFactors: factors }) => {
    if (!factors.has(kind)) throw factorFailure({ refused: 'no_kind' }, kind, factors, 'issue')
    for (let start = 0; start < principals.length; start += atATime) {
      const some = principals.slice(start, start + atATime)
      const issued = await Promise.allSettled(
        some.map(async (principal) => {
          const result = await issueFactor(administration, by, { factors, kind, principal })
          if (isRefusal(result)) throw factorFailure(result, kind, factors, 'issue')
          return result
        }),
      )
      for (const [index, outcome] of issued.entries()) {
        const principal = some[index]
        if (principal === undefined || outcome.status === 'rejected') continue
        const { lines, uri } = outcome.value
        printJsonLine({ ...toWire(principal), ...lines, ...(uri !== undefined && { uri }) })
      }
      const failed = issued.find((outcome) => outcome.status === 'rejected')
      if (failed === undefined) continue
      printError('Not all were issued: standard output has those that were.')
      throw failed.reason
    }
  })
  printError(`Issued to ${counted(principals.length, 'principal')}. Shown only once.`)
}

export type BulkOptions = Omit<FactorOptions, 'subject' | 'principalId'>

/** Implements `signet principals withdraw`. */
export const withdrawFactorOf = async (options: FactorOptions): Promise<void> => {
  const principal = toPrincipal(options)
  const { kind, subject, principalId: principal_id, type: principal_type } = options
  const checked = await checkDeployment(options)
  await administerPlugins(checked, async (administration, by, { secondFactors: factors }) => {
    const refusal = await withdrawFactor(administration, by, { factors, kind, principal })
    if (refusal !== undefined) throw factorFailure(refusal, kind, factors, 'withdraw')
  })
  if (options.json) return printJson({ kind, subject, principal_id, principal_type, state: 'withdrawn' })
  print('Withdrawn.')
}
