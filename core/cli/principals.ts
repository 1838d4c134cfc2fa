import { isoTime } from '../clock.js'
import type { Principal, PrincipalType } from '../attestation/ports.js'
import type { PrincipalStatus } from '../attestation/principal-registry.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import { keepsPrincipals } from '../modules/registries.js'
import { isRefusal } from '../administration/administration.js'
import { findPrincipal, releasePrincipal, restorePrincipal } from '../administration/principals.js'
import { administer, checkDeployment, withStores, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson, printYaml } from './output.js'
import { nameOf, toPrincipal, toWire } from './principal-names.js'

export interface PrincipalsOptions extends DeploymentOptions {
  readonly json?: true
}

export interface OnePrincipalOptions extends PrincipalsOptions {
  readonly subject: string
  readonly principalId: string
  readonly type: PrincipalType
}

/** The message names the type that was looked for, because a principal of the other type may have the same names. */
export const noSuch = ({ principalType }: Principal): CommandFailed => {
  const other = principalType === 'device' ? 'service' : 'device'
  return new CommandFailed(
    `There is no such principal of the type ${principalType}. For a ${other}, add --type ${other}.`,
  )
}

/** Implements `signet principals show`. */
export const printPrincipal = async (options: OnePrincipalOptions): Promise<void> => {
  const principal = toPrincipal(options)
  const { config } = await readRegistered(options)
  const status = await withStores(config, (stores) => findPrincipal({ config, stores }, principal))
  if (status === undefined) throw noSuch(principal)
  const shown = describePrincipal(principal, status)
  if (options.json) printJson(shown)
  else printYaml(shown)
}

/** Implements `signet principals restore`. */
export const restore = async (options: OnePrincipalOptions): Promise<void> => {
  const principal = toPrincipal(options)
  const { config } = await readRegistered(options)
  const refusal = await administer(config, (administration, by) => restorePrincipal(administration, by, principal))
  if (refusal !== undefined) throw new CommandFailed('This principal is not revoked.')
  if (options.json) return printJson({ ...toWire(principal), state: 'active' })
  print(`Restored ${nameOf(principal)}`)
}

/** Implements `signet principals release`. */
export const release = async (options: OnePrincipalOptions): Promise<void> => {
  const principal = toPrincipal(options)
  const { config } = await readRegistered(options)
  const result = await administer(config, (administration, by) => releasePrincipal(administration, by, principal))
  if (isRefusal(result)) throw noSuch(principal)
  const { owner } = result
  if (options.json) return printJson({ ...toWire(principal), state: 'released', ...(owner !== undefined && { owner }) })
  print(`Released ${nameOf(principal)}${owner === undefined ? '' : `. The id still belongs to ${owner}`}`)
}

/** Throws `CommandFailed` when no plugin of the configuration reads what these commands write. */
export const readRegistered = async (options: DeploymentOptions): Promise<CheckedConfiguration> => {
  const checked = await checkDeployment(options)
  if (checked.modules.plugins.some(keepsPrincipals)) return checked
  throw new CommandFailed('The configuration has no registry of principals: add plugins/attestation/registry.')
}

/** Describes a principal as commands print it. */
export const describePrincipal = (principal: Principal, { enrolment, revokedAt }: PrincipalStatus) => ({
  ...toWire(principal),
  state: revokedAt === undefined ? 'active' : 'revoked',
  ...(enrolment && {
    jkt: enrolment.jkt,
    attributes: enrolment.attributes,
    enrolled_at: isoTime(enrolment.enrolledAt * 1000),
  }),
  ...(revokedAt !== undefined && { revoked_at: isoTime(revokedAt * 1000) }),
})
