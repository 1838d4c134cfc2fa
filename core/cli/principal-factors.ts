import { readPrincipal } from '../attestation/read-body.js'
import type { IssuedFactor, Principal, PrincipalType, SecondFactorVerifier } from '../attestation/ports.js'
import { withRegistries } from '../host/with-registries.js'
import { OAuthError } from '../oauth/errors.js'
import { noLog } from '../observe/log.js'
import { checkDeployment, recordChange, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printFields, printJson } from './output.js'
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
  changeFactor(options, 'principal.issue', async (factor, principal) => {
    if (factor.issue === undefined) throw new CommandFailed(`The second factor ${factor.kind} cannot issue anything.`)
    return factor.issue(principal)
  })

/** `signet principals withdraw`. */
export const withdrawFactor = async (options: FactorOptions): Promise<void> => {
  await changeFactor(options, 'principal.withdraw', async (factor, principal) => {
    if (factor.withdraw === undefined)
      throw new CommandFailed(`The second factor ${factor.kind} cannot withdraw anything.`)
    if (!(await factor.withdraw(principal))) throw new CommandFailed('There is nothing to withdraw.')
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
  const { kind, subject: sub, principalId: principal_id, type: principal_type } = options
  return await withRegistries(checked, { clock: Date.now, log: noLog }, ({ secondFactors }) => {
    const factor = findFactor(secondFactors, kind)
    const told = { action, kind, sub, principal_id, principal_type }
    return recordChange(checked.config, told, () => change(factor, principal))
  })
}

/** The same names that can be enrolled. */
export const toPrincipal = ({
  subject,
  principalId,
  type,
}: Pick<FactorOptions, 'subject' | 'principalId' | 'type'>): Principal => {
  try {
    return readPrincipal({ subject, principal_id: principalId, principal_type: type })
  } catch (error) {
    throw error instanceof OAuthError ? new CommandFailed(error.description) : error
  }
}

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
