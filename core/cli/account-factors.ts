import type { Config } from '../../config/schema.js'
import { isoTime } from '../clock.js'
import { collections } from '../host/collections.js'
import type { Stores } from '../host/stores.js'
import { findAccount, openAccountStore } from '../interaction/accounts.js'
import type { PersonFactor } from '../interaction/factors/person-factor.js'
import { createPersonFactors, factorId, type PersonFactors } from '../interaction/factors/person-factors.js'
import { canonicalUsername } from '../interaction/username.js'
import { readDeployment, recordChange, withStores, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printJson } from './output.js'
import { printList } from './table.js'

/** Names whose factors: an account by its username, or a person by `sub`, whichever method signs them in. */
export interface AccountFactorOptions extends DeploymentOptions {
  readonly username?: string
  readonly sub?: string
  readonly json?: true
}

/** What people sign in with beside passwords, in these stores. */
export const personFactorsIn = (stores: Stores): PersonFactors =>
  createPersonFactors({ store: collections(stores).personFactors, clock: Date.now })

const findSubject = async (
  config: Config,
  stores: Stores,
  { username, sub }: AccountFactorOptions,
): Promise<string> => {
  if (sub !== undefined) return sub
  const name = canonicalUsername(username ?? '')
  const configured = config.accounts.find((one) => canonicalUsername(one.username) === name)
  const found = configured ?? (await findAccount(openAccountStore(stores.records), username ?? ''))?.account
  if (found === undefined)
    throw new CommandFailed('There is no such account. People of other sign-in methods have --sub.')
  return found.sub
}

const whose = ({ username, sub }: AccountFactorOptions) => ({
  ...(username !== undefined && { username }),
  ...(sub !== undefined && { sub }),
})

const describe = (factor: PersonFactor) => ({
  id: factorId(factor),
  kind: factor.kind,
  ...(factor.kind === 'passkey' && { name: factor.name, backed_up: factor.backedUp }),
  ...(factor.kind === 'recovery_codes' && { left: factor.hashes.length }),
  created_at: isoTime(factor.createdAt * 1000),
  ...(factor.lastUsedAt !== undefined && { last_used_at: isoTime(factor.lastUsedAt * 1000) }),
})

const detailOf = (factor: PersonFactor): string => {
  if (factor.kind === 'passkey') return factor.name
  return factor.kind === 'recovery_codes' ? `${String(factor.hashes.length)} left` : ''
}

/** `signet accounts factors`. Who looks at what protects a person is in the audit log. */
export const printFactors = async (options: AccountFactorOptions): Promise<void> => {
  const config = await readDeployment(options)
  const change = { action: 'account.list_factors', ...whose(options) }
  const factors = await recordChange(config, change, () =>
    withStores(config, async (stores) => personFactorsIn(stores).list(await findSubject(config, stores, options))),
  )
  if (options.json) return printJson(factors.map(describe))
  printList(
    'factors',
    ['ID', 'NAME', 'CREATED', 'LAST USED'],
    factors.map((factor) => {
      const { id, created_at: created, last_used_at: used = '' } = describe(factor)
      return [id, detailOf(factor), created, used]
    }),
  )
}

/** `signet accounts remove-factor`. */
export const removeFactorFrom = async (factor: string, options: AccountFactorOptions): Promise<void> => {
  const config = await readDeployment(options)
  const removed = await recordChange(config, { action: 'account.remove_factor', ...whose(options), factor }, () =>
    withStores(
      config,
      async (stores) =>
        (await personFactorsIn(stores).remove(await findSubject(config, stores, options), factor)) ?? false,
    ),
  )
  if (removed === false) throw new CommandFailed('There is no such factor: `signet accounts factors` lists their ids.')
  if (options.json) return printJson({ ...describe(removed), state: 'removed' })
  print(`Removed ${factor}`)
}
