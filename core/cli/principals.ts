import { isoTime } from '../clock.js'
import type { Principal, PrincipalType } from '../attestation/ports.js'
import type { PrincipalStatus } from '../attestation/principal-registry.js'
import type { CheckedConfiguration } from '../host/checks/check-configuration.js'
import { openPrincipals } from '../host/collections.js'
import { changeStores, checkDeployment, listAll, withStores, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson, printTable, printYaml } from './output.js'
import { toPrincipal } from './principal-factors.js'

export interface PrincipalsOptions extends DeploymentOptions {
  readonly json?: true
}

export interface OnePrincipalOptions extends PrincipalsOptions {
  readonly subject: string
  readonly principalId: string
  readonly type: PrincipalType
}

/** `signet principals list`. */
export const printPrincipals = async (options: PrincipalsOptions): Promise<void> => {
  const { config } = await readRegistered(options)
  const rows = await withStores(config, (stores) =>
    listAll(
      (after) => openPrincipals(stores).list(after, 100),
      ({ id }) => id,
    ),
  )
  const shown = rows.flatMap(({ enrolment, revokedAt }) =>
    enrolment === undefined ? [] : [describe(enrolment.principal, { enrolment, ...(revokedAt && { revokedAt }) })],
  )
  if (options.json) return printJson(shown)
  printTable(
    ['SUBJECT', 'PRINCIPAL_ID', 'TYPE', 'KEY', 'STATE', 'ENROLLED'],
    shown.map((row) => [
      ...[row.subject, row.principal_id, row.principal_type, fingerprint(row.jkt ?? '')],
      ...[row.state, row.enrolled_at ?? ''],
    ]),
  )
}

/** `signet principals show`. */
export const printPrincipal = async (options: OnePrincipalOptions): Promise<void> => {
  const principal = toPrincipal(options)
  const { config } = await readRegistered(options)
  const standing = await withStores(config, (stores) => openPrincipals(stores).find(principal))
  if (standing.enrolment === undefined) throw new CommandFailed('There is no such principal.')
  const shown = describe(principal, standing)
  if (options.json) printJson(shown)
  else printYaml(shown)
}

/** `signet principals revoke`. */
export const revokePrincipal = async (options: OnePrincipalOptions): Promise<void> => {
  const principal = toPrincipal(options)
  const { config } = await readRegistered(options)
  await changeStores(config, { action: 'principal.revoke', ...toAudit(principal) }, async (stores) => {
    const registry = openPrincipals(stores)
    if ((await registry.find(principal)).enrolment === undefined) throw new CommandFailed('There is no such principal.')
    if (await registry.revoke({ principal, revokedAt: Math.floor(Date.now() / 1000) })) return true
    throw new CommandFailed('This principal is already revoked.')
  })
  if (options.json) return printJson({ ...toWire(principal), state: 'revoked' })
  print(`Revoked ${principal.principalId}`)
}

/** `signet principals restore`. */
export const restorePrincipal = async (options: OnePrincipalOptions): Promise<void> => {
  const principal = toPrincipal(options)
  const { config } = await readRegistered(options)
  await changeStores(config, { action: 'principal.restore', ...toAudit(principal) }, async (stores) => {
    if (await openPrincipals(stores).restore(principal)) return true
    throw new CommandFailed('This principal is not revoked.')
  })
  if (options.json) return printJson({ ...toWire(principal), state: 'active' })
  print(`Restored ${principal.principalId}`)
}

/** `signet principals release`. */
export const releasePrincipal = async (options: OnePrincipalOptions): Promise<void> => {
  const principal = toPrincipal(options)
  const { config } = await readRegistered(options)
  let owner: string | undefined
  await changeStores(config, { action: 'principal.release', ...toAudit(principal) }, async (stores) => {
    const registry = openPrincipals(stores)
    if (!(await registry.release(principal))) throw new CommandFailed('There is no such principal.')
    owner = await registry.findOwner(principal.principalId)
    return true
  })
  if (options.json) return printJson({ ...toWire(principal), state: 'released', ...(owner !== undefined && { owner }) })
  print(`Released ${principal.principalId}${owner === undefined ? '' : `. The id still belongs to ${owner}`}`)
}

/** What a person compares with what a device shows: the first 16 characters of a thumbprint, 96 bits. */
export const fingerprint = (jkt: string): string => jkt.slice(0, 16)

/** Names of a principal as the audit log has them. */
export const toAudit = ({ subject: sub, principalId: principal_id, principalType: principal_type }: Principal) => ({
  ...{ sub, principal_id, principal_type },
})

/** Names of a principal as requests have them. */
export const toWire = ({ subject, principalId: principal_id, principalType: principal_type }: Principal) => ({
  ...{ subject, principal_id, principal_type },
})

/** Throws `CommandFailed` when no plugin of the configuration reads what these commands write. */
const readRegistered = async (options: DeploymentOptions): Promise<CheckedConfiguration> => {
  const checked = await checkDeployment(options)
  if (checked.modules.plugins.some(({ module }) => module.needs?.includes('principals'))) return checked
  throw new CommandFailed('The configuration has no registry of principals: add plugins/attestation/registry.')
}

const describe = (principal: Principal, { enrolment, revokedAt }: PrincipalStatus) => ({
  ...toWire(principal),
  state: revokedAt === undefined ? 'active' : 'revoked',
  ...(enrolment && {
    jkt: enrolment.jkt,
    attributes: enrolment.attributes,
    enrolled_at: isoTime(enrolment.enrolledAt * 1000),
  }),
  ...(revokedAt !== undefined && { revoked_at: isoTime(revokedAt * 1000) }),
})
