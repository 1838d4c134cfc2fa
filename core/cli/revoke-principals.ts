import type { Config } from '../../config/schema.js'
import type { Principal } from '../attestation/ports.js'
import type { PrincipalRegistry } from '../attestation/principal-registry.js'
import { mostLookSeconds } from '../attestation/status-list/publication.js'
import { isoTime } from '../clock.js'
import { openPrincipals } from '../host/status-lists.js'
import { openAuditBeside, recordIn, withStores } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printError, printJson } from './output.js'
import { counted } from './person.js'
import { readPrincipalList } from './principal-list.js'
import { nameOf, toAudit, toWire } from './principal-names.js'
import { noSuch, readRegistered, type PrincipalsOptions } from './principals.js'

/** `signet principals revoke` with one name. */
export const revokePrincipal = async (principal: Principal, options: PrincipalsOptions): Promise<void> => {
  const { config } = await readRegistered(options)
  const [failure] = await revokeAll(config, [principal])
  if (failure !== undefined) throw failure
  if (options.json) return printJson(describeRevoked(config, principal))
  print(`Revoked ${nameOf(principal)}. It gets no new attestation; ${whatRemains(config)}`)
}

/** `signet principals revoke --from`: checks the whole file before it revokes anything. */
export const revokePrincipalsOf = async (file: string, type: string, options: PrincipalsOptions): Promise<void> =>
  revokePrincipals(await readPrincipalList(file, type), options)

/** `signet principals revoke` with several names: revokes all that it can, and exits with 1 when that is not all of them. */
export const revokePrincipals = async (principals: readonly Principal[], options: PrincipalsOptions): Promise<void> => {
  const { config } = await readRegistered(options)
  const failures = await revokeAll(config, principals)
  const revoked = principals.filter((_, index) => failures[index] === undefined)
  for (const [index, failure] of failures.entries()) {
    const principal = principals[index]
    if (failure === undefined || principal === undefined) continue
    printError(`${nameOf(principal)}: ${failure.message}`)
    process.exitCode = 1
  }
  if (options.json) return printJson(revoked.map((principal) => describeRevoked(config, principal)))
  for (const principal of revoked) print(`Revoked ${nameOf(principal)}`)
  const count = counted(revoked.length, 'principal')
  print(`Revoked ${count}${revoked.length === 0 ? '' : `. They get no new attestation; ${whatRemains(config)}`}`)
}

/** So many are revoked at a time: each is some writes. */
const atATime = 20

/** Why each of them was not revoked, in their order; undefined: it was. Throws `Unavailable`; what was revoked by then stays so. */
const revokeAll = (config: Config, principals: readonly Principal[]): Promise<readonly (CommandFailed | undefined)[]> =>
  withStores(config, async (stores) => {
    const registry = openPrincipals(stores, config)
    await using audit = await openAuditBeside(config)
    const failures: (CommandFailed | undefined)[] = []
    for (let start = 0; start < principals.length; start += atATime) {
      const outcomes = await Promise.allSettled(
        principals.slice(start, start + atATime).map((principal) => {
          const change = { action: 'principal.revoke', ...toAudit(principal) }
          return recordIn(audit, change, () => revokeOne(registry, principal))
        }),
      )
      for (const outcome of outcomes) {
        if (outcome.status === 'fulfilled') failures.push(undefined)
        else if (outcome.reason instanceof CommandFailed) failures.push(outcome.reason)
        else throw outcome.reason
      }
    }
    return failures
  })

const revokeOne = async (registry: PrincipalRegistry, principal: Principal): Promise<void> => {
  if ((await registry.find(principal)).enrolment === undefined) throw noSuch(principal)
  if (!(await registry.revoke({ principal, revokedAt: Math.floor(Date.now() / 1000) })))
    throw new CommandFailed('This principal is already revoked.')
}

const describeRevoked = (config: Config, principal: Principal) => {
  const listed = lastListEnd(config)
  return {
    ...toWire(principal),
    state: 'revoked',
    attestations_valid_until: lastAttestationEnd(config),
    ...(listed !== undefined && { status_lists_current_from: listed }),
  }
}

const whatRemains = (config: Config): string => {
  const listed = lastListEnd(config)
  const lists = listed === undefined ? '' : `, and those that read the status list until ${listed}`
  return `verifiers accept an earlier one until ${lastAttestationEnd(config)} at most${lists}.`
}

/** An attestation that was issued just now, and that a verifier with another clock looks at. */
const lastAttestationEnd = ({ attestation, clock_tolerance_secs: tolerance }: Config): string =>
  isoTime(Date.now() + ((attestation?.attestation_ttl_secs ?? 0) + tolerance) * 1000)

/** From when on no verifier uses a status list that was fetched before now. */
const lastListEnd = ({ attestation }: Config): string | undefined =>
  attestation?.status_list && isoTime(Date.now() + (attestation.status_list.ttl_secs + mostLookSeconds) * 1000)
