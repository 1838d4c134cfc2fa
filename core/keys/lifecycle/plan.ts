import { isoTime } from '../../clock.js'
import { formatProblem } from '../../../config/problems.js'
import type { Config } from '../../../config/schema.js'
import { stateAt } from '../key-states.js'
import type { JwsAlg } from '../../jose/jwk.js'
import type { KeyPurpose, KeyState } from '../ports.js'
import type { Lifetime } from '../ring-key.js'
import type { InventoryEntry } from './inventory.js'
import { findEarlyKeys, inventoryAtReload, isInForce, type KeyPublications } from './publications.js'
import { findEarlyRemovals, findLastInventory } from './removals.js'
import { lifetimeOf } from './open-ring.js'
import { deploymentNeeds, fits, type SigningNeed } from './signing-needs.js'

export interface KeyChange {
  readonly at: number
  readonly kid: string
  readonly from: KeyState
  readonly to: KeyState
}

/** The key that signs from `from` until `until`. Infinity means without end. */
export interface SigningInterval extends SigningNeed {
  readonly from: number
  readonly until: number
  /** The first listed active key, or undefined if there is none. */
  readonly kid: string | undefined
}

export interface KeyPlan {
  readonly changes: readonly KeyChange[]
  readonly signing: readonly SigningInterval[]
  /** In the order of the inventory. Infinity means without end. */
  readonly published: readonly { readonly kid: string; readonly state: KeyState; readonly until: number }[]
  /** Sentences for the operator. */
  readonly warnings: readonly string[]
}

interface PlannedKey extends Lifetime {
  readonly kid: string
  readonly alg: JwsAlg
  readonly purposes: readonly KeyPurpose[]
}

/** Milliseconds. */
const hour = 3_600_000

/** The tokens that the deployment is configured to sign, including those that its clients ask for. */
const needsOf = (config: Config, keys: readonly PlannedKey[]): readonly SigningNeed[] => {
  const needs = [...deploymentNeeds(config)]
  const add = (purpose: KeyPurpose, alg: unknown): void => {
    const key = keys.find((one) => one.alg === alg && one.purposes.includes(purpose))
    if (key !== undefined && !needs.some((need) => need.purpose === purpose && need.alg === alg))
      needs.push({ purpose, alg: key.alg })
  }
  for (const client of config.clients) {
    add('id_token', client['id_token_signed_response_alg'])
    add('userinfo', client['userinfo_signed_response_alg'])
    add('introspection', client['introspection_signed_response_alg'])
    add('jarm', client['authorization_signed_response_alg'])
    if (client['backchannel_logout_uri'] !== undefined)
      add('logout_token', client['id_token_signed_response_alg'] ?? config.id_token_signing_alg)
  }
  return needs
}

const isActive = (key: Lifetime, at: number): boolean => stateAt(key, at) === 'active'

const intervalsOf = (need: SigningNeed, keys: readonly PlannedKey[], now: number): readonly SigningInterval[] => {
  const fitting = keys.filter((key) => fits(key, need))
  const times = fitting.flatMap(({ notBefore, notAfter }) => [notBefore, notAfter])
  const later = [...new Set(times)].filter((time) => time > now && time < Infinity).toSorted((a, b) => a - b)
  const bounds = [now, ...later]
  const intervals: SigningInterval[] = []
  for (const [index, from] of bounds.entries()) {
    const kid = fitting.find((key) => isActive(key, from))?.kid
    const until = bounds[index + 1] ?? Infinity
    const last = intervals.at(-1)
    if (last !== undefined && last.kid === kid) intervals[intervals.length - 1] = { ...last, until }
    else intervals.push({ ...need, from, until, kid })
  }
  return intervals
}

const changesOf = (key: PlannedKey, now: number): readonly KeyChange[] => {
  const { kid, notBefore, notAfter, goneAt } = key
  let from = stateAt(key, now)
  return [notBefore, notAfter, goneAt].flatMap((at) => {
    if (at <= now || at === Infinity) return []
    const change = { at, kid, from, to: stateAt(key, at) }
    from = change.to
    return change.from === change.to ? [] : [change]
  })
}

const describeGaps = (intervals: readonly SigningInterval[]): readonly string[] =>
  intervals.flatMap(({ purpose, alg, from, until, kid }) => {
    if (kid !== undefined) return []
    const span = until === Infinity ? `from ${isoTime(from)} on` : `from ${isoTime(from)} until ${isoTime(until)}`
    return [`no key signs ${purpose} with ${alg} ${span}`]
  })

/** When two keys end together, there may be no second key to fail over to at that time. */
const findJointEnds = (need: SigningNeed, keys: readonly PlannedKey[], now: number): readonly string[] => {
  const fitting = keys.filter((key) => fits(key, need))
  const ending = fitting.filter((key) => key.notAfter > now && key.notAfter < Infinity)
  const leavesTwo = (at: number): boolean => fitting.filter((key) => isActive(key, at)).length > 1
  return ending.flatMap((key, index) => {
    const other = ending
      .slice(index + 1)
      .find(({ notAfter }) => Math.abs(notAfter - key.notAfter) < hour && !leavesTwo(Math.max(notAfter, key.notAfter)))
    return other === undefined ? [] : [`${key.kid} and ${other.kid} stop signing within an hour of each other`]
  })
}

/**
 * The rotation timeline of the inventory from `now` on, given what was published, and the problems for which a reload
 * would be refused. Times are milliseconds since the epoch. Pure.
 */
export const planKeys = (
  config: Config,
  entries: readonly InventoryEntry[],
  publications: KeyPublications,
  now: number,
): KeyPlan => {
  const inventory = inventoryAtReload(entries, publications, now)
  const keys = inventory.keys.map((key): PlannedKey => {
    const { kid, alg, purposes } = key
    return { kid, alg, purposes, ...lifetimeOf(config, key) }
  })
  const needs = needsOf(config, keys)
  const signing = needs.flatMap((need) => intervalsOf(need, keys, now))
  const early = findEarlyKeys(inventory, (kid) =>
    inventory.keys.some((key) => key.kid === kid && isInForce(key, publications)),
  )
  const last = { config, keys: findLastInventory(publications) }
  const removed = findEarlyRemovals(last, { config, keys: inventory.keys }, now)
  const over = inventory.held.filter(({ kid }) => keys.some((key) => key.kid === kid && key.notAfter <= key.notBefore))
  return {
    changes: keys.flatMap((key) => changesOf(key, now)).toSorted((a, b) => a.at - b.at),
    signing,
    published: keys.map((key) => ({ kid: key.kid, state: stateAt(key, now), until: key.goneAt })),
    warnings: [
      ...describeGaps(signing),
      ...[...early, ...removed].map((problem) => `a reload refuses this: ${formatProblem(problem)}`),
      ...over.map(({ kid }) => `${kid} ends before it may sign`),
      ...new Set(needs.flatMap((need) => findJointEnds(need, keys, now))),
    ],
  }
}
