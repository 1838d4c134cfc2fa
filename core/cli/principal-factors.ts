import type { IssuedFactor, Principal, PrincipalType, SecondFactorVerifier } from '../attestation/ports.js'
import {
  checkDeployment,
  openAuditBeside,
  recordChange,
  recordIn,
  withPlugins,
  type Change,
  type DeploymentOptions,
} from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printError, printFields, printJson, printJsonLine } from './output.js'
import { counted } from './person.js'
import { readPrincipalList } from './principal-list.js'
import { toAudit, toPrincipal, toWire } from './principal-names.js'
import { drawQrCode } from './qr-code.js'

export interface FactorOptions extends DeploymentOptions {
  readonly kind: string
  readonly subject: string
  readonly principalId: string
  readonly type: PrincipalType
  readonly json?: true
}

/** `signet principals issue`: prints what was issued this once; the store gets it hashed or sealed. */
export const issueFactor = async (options: FactorOptions): Promise<void> => {
  const { lines, uri } = await makeFactor(options)
  if (options.json) return printJson({ ...lines, ...(uri !== undefined && { uri }) })
  printFields({ ...lines, ...(uri !== undefined && { uri }) })
  const picture = uri === undefined ? undefined : drawQrCode(uri, process.stdout)
  if (picture !== undefined) print(picture)
  print('Shown only once.')
}

/** Makes what a principal enrols with, and records that it did. Throws `CommandFailed`. */
export const makeFactor = (options: FactorOptions): Promise<IssuedFactor> =>
  changeFactor(options, 'principal.issue', issueTo)

const issueTo = async (factor: SecondFactorVerifier, principal: Principal): Promise<IssuedFactor> => {
  if (factor.issue === undefined) throw new CommandFailed(`The second factor ${factor.kind} cannot issue anything.`)
  return factor.issue(principal)
}

/** So many are issued at a time: each is some writes. */
const atATime = 20

/**
 * `signet principals issue --from`: a JSON object a line for each principal of the file, in its order. Checks the whole file
 * before it issues anything.
 */
export const issueFactors = async (file: string, options: BulkOptions): Promise<void> => {
  const principals = await readPrincipalList(file, options.type)
  const checked = await checkDeployment(options)
  await withPlugins(checked, async ({ secondFactors }) => {
    const factor = findFactor(secondFactors, options.kind)
    await using audit = await openAuditBeside(checked.config)
    for (let start = 0; start < principals.length; start += atATime) {
      const some = principals.slice(start, start + atATime)
      const issued = await Promise.allSettled(
        some.map((principal) =>
          recordIn(audit, describeChange('principal.issue', options.kind, principal), () => issueTo(factor, principal)),
        ),
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

/** `signet principals withdraw`. */
export const withdrawFactor = async (options: FactorOptions): Promise<void> => {
  await changeFactor(options, 'principal.withdraw', async (factor, principal) => {
    if (factor.withdraw === undefined)
      throw new CommandFailed(`The second factor ${factor.kind} cannot withdraw anything.`)
    if ((await factor.withdraw(principal)) !== true) throw new CommandFailed('There is nothing to withdraw.')
  })
  const { kind, subject, principalId: principal_id, type: principal_type } = options
  if (options.json) return printJson({ kind, subject, principal_id, principal_type, state: 'withdrawn' })
  print('Withdrawn.')
}

const changeFactor = async <T>(
  options: FactorOptions,
  action: string,
  change: (factor: SecondFactorVerifier, principal: Principal) => Promise<T>,
): Promise<T> => {
  const principal = toPrincipal(options)
  const checked = await checkDeployment(options)
  return await withPlugins(checked, ({ secondFactors }) => {
    const factor = findFactor(secondFactors, options.kind)
    return recordChange(checked.config, describeChange(action, options.kind, principal), () =>
      change(factor, principal),
    )
  })
}

const describeChange = (action: string, kind: string, principal: Principal): Change => ({
  action,
  kind,
  ...toAudit(principal),
})

const findFactor = (factors: ReadonlyMap<string, SecondFactorVerifier>, kind: string): SecondFactorVerifier => {
  const factor = factors.get(kind)
  if (factor !== undefined) return factor
  const there = [...factors.keys()].join(', ')
  throw new CommandFailed(
    there === ''
      ? 'No plugin of the configuration provides second factors.'
      : `No plugin provides the second factor ${kind}. There are: ${there}`,
  )
}
