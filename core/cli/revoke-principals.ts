import type { Config } from '../../config/schema.js'
import type { Principal } from '../attestation/ports.js'
import { attestationsEnd, revokePrincipals, statusListsEnd } from '../administration/principals.js'
import { isoTime } from '../clock.js'
import { administer } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printError, printJson } from './output.js'
import { counted } from './person.js'
import { readPrincipalList } from './principal-list.js'
import { nameOf, toWire } from './principal-names.js'
import { noSuch, readRegistered, type PrincipalsOptions } from './principals.js'

/** Implements `signet principals revoke` with one name. */
export const revokeOne = async (principal: Principal, options: PrincipalsOptions): Promise<void> => {
  const { config } = await readRegistered(options)
  const [failure] = await revokeAll(config, [principal])
  if (failure !== undefined) throw failure
  if (options.json) return printJson(describeRevoked(config, principal))
  print(`Revoked ${nameOf(principal)}. It gets no new attestation; ${whatRemains(config)}`)
}

/** Implements `signet principals revoke --from`. It checks the whole file before it revokes anything. */
export const revokePrincipalsOf = async (file: string, type: string, options: PrincipalsOptions): Promise<void> =>
  revokeSeveral(await readPrincipalList(file, type), options)

/**
 * Implements `signet principals revoke` with several names. It revokes all that it can, and exits with 1 when some
 * remain.
 */
export const revokeSeveral = async (principals: readonly Principal[], options: PrincipalsOptions): Promise<void> => {
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

/** Returns why each of them was not revoked, in their order. Undefined means that it was revoked. */
const revokeAll = async (
  config: Config,
  principals: readonly Principal[],
): Promise<readonly (CommandFailed | undefined)[]> => {
  const refusals = await administer(config, (administration, by) => revokePrincipals(administration, by, principals))
  return refusals.map((refusal, index) => {
    if (refusal === undefined) return undefined
    const principal = principals[index]
    return refusal.refused === 'unknown' && principal !== undefined
      ? noSuch(principal)
      : new CommandFailed('This principal is already revoked.')
  })
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

const lastAttestationEnd = (config: Config): string => isoTime(attestationsEnd(config, Date.now()))

const lastListEnd = (config: Config): string | undefined => {
  const end = statusListsEnd(config, Date.now())
  return end === undefined ? undefined : isoTime(end)
}
