import { isoTime } from '../clock.js'
import { collections } from '../host/collections.js'
import type { Stores } from '../host/stores.js'
import type { PersonFactor } from '../interaction/factors/person-factor.js'
import { createPersonFactors, factorId, type PersonFactors } from '../interaction/factors/person-factors.js'
import { readDeployment, recordChange, withStores } from './deployment.js'
import { CommandFailed } from './failure.js'
import { findPerson, whose, type WhoOptions } from './find-person.js'
import { print, printJson } from './output.js'
import { printList } from './table.js'

/** What people sign in with beside passwords, in these stores. */
export const personFactorsIn = (stores: Stores): PersonFactors =>
  createPersonFactors({ store: collections(stores).personFactors, clock: Date.now })

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
export const printFactors = async (options: WhoOptions): Promise<void> => {
  const config = await readDeployment(options)
  const change = { action: 'account.list_factors', ...whose(options) }
  const factors = await recordChange(config, change, () =>
    withStores(config, async (stores) => personFactorsIn(stores).list((await findPerson(config, stores, options)).sub)),
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
export const removeFactorFrom = async (factor: string, options: WhoOptions): Promise<void> => {
  const config = await readDeployment(options)
  const removed = await recordChange(config, { action: 'account.remove_factor', ...whose(options), factor }, () =>
    withStores(
      config,
      async (stores) =>
        (await personFactorsIn(stores).remove((await findPerson(config, stores, options)).sub, factor)) ?? false,
    ),
  )
  if (removed === false) throw new CommandFailed('There is no such factor: `signet accounts factors` lists their ids.')
  if (options.json) return printJson({ ...describe(removed), state: 'removed' })
  print(`Removed ${factor}`)
}
