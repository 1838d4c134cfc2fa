import { retention } from '../keys/lifecycle/open-ring.js'
import { announcementMs } from '../keys/slots/next-step.js'
import { isKidOf, isSlot, slotsOf } from '../keys/slots/expand-slots.js'
import { dayMs, overlapMs, type Slot } from '../keys/slots/slot.js'
import type { Config } from '../../config/schema.js'
import type { Rule } from './rule.js'

const hoursPerDay = 24
/** The sections on which the retention of keys depends. */
const retentionSections = [
  'resources',
  'attestation',
  'access_token_ttl_secs',
  'id_token_ttl_secs',
  'clock_tolerance_secs',
] as const

/** A number of days that an operator can write, never less than `days`. */
const atLeast = (days: number): string => String(Math.ceil(days * 1000) / 1000)

/** The keys that may exist at a time: those that wait, the one that signs, and those whose tokens have not expired. */
export const leastKeys = ({ rotate: { every_days, ahead } }: Pick<Slot, 'rotate'>, retentionMs: number): number =>
  Math.max(ahead, 1) + 1 + Math.ceil((retentionMs + overlapMs) / (every_days * dayMs))

const rotationThatWorks: Rule = ({ config, report, isValid }) => {
  if (config.keys === undefined || !isValid('keys', ...retentionSections)) return
  const whole = config as Config
  for (const [index, slot] of whole.keys.entries()) {
    if (!isSlot(slot)) continue
    const { every_days, announce_days, ahead, max_keys } = slot.rotate
    const say = (member: keyof Slot['rotate'], message: string): void =>
      report(['keys', index, 'rotate', member], message)
    if (announce_days * dayMs < announcementMs)
      say(
        'announce_days',
        `is shorter than the hour for which relying parties may cache /jwks.json: at least ${atLeast(1 / hoursPerDay)}`,
      )
    // A key is made when the one `ahead` places before it begins.
    const least = Math.max(announce_days, 1 / hoursPerDay) / Math.max(ahead, 1)
    if (every_days <= least)
      say(
        'every_days',
        `leaves no time to announce a key for ${String(announce_days)} days: more than ${atLeast(least)}`,
      )
    const keys = leastKeys(slot, retention(whole, slot.purposes) * 1000)
    if (max_keys < keys)
      say('max_keys', `is too small for this period and the lifetimes of tokens: at least ${String(keys)}`)
  }
}

/** Two keys with one name would be one key. */
const namesThatDiffer: Rule = ({ config, report, isValid }) => {
  if (config.keys === undefined || !isValid('keys')) return
  const whole = config as Config
  const slots = slotsOf(whole)
  for (const [index, slot] of whole.keys.entries()) {
    if (!isSlot(slot)) {
      const owner = slots.find(({ slot: name }) => isKidOf(name, slot.kid))
      if (owner !== undefined)
        report(['keys', index, 'kid'], `is a name that the slot ${owner.slot} gives to its keys: rename one of them`)
      continue
    }
    const { ref } = slot
    const names = ref.replaceAll(/\{(slot|number|kid)\}/g, '')
    if (/[{}]/.test(names)) report(['keys', index, 'ref'], 'has a variable other than {slot}, {number} and {kid}')
    else if (!ref.includes('{kid}') && !ref.includes('{number}'))
      report(['keys', index, 'ref'], 'gives every key of the slot the same name: use {kid} or {number}')
    else if (!ref.includes('{kid}') && !ref.includes('{slot}')) {
      const same = slots.find((other) => other !== slot && other.signer === slot.signer && other.ref === ref)
      if (same !== undefined)
        report(['keys', index, 'ref'], `names the same keys as the slot ${same.slot}: use {kid} or {slot}`)
    }
  }
}

export const slotRules: readonly Rule[] = [rotationThatWorks, namesThatDiffer]
