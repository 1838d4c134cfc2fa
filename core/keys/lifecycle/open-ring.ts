import { ConfigurationError } from '../../../config/problems.js'
import type { Config } from '../../../config/schema.js'
import type { Clock } from '../../clock.js'
import {
  KeysRefused,
  openKeyRing,
  type KeyConfiguration,
  type KeyReport,
  type KeyRingOptions,
  type SupervisedKeyRing,
} from '../key-ring.js'
import { lifetimeFrom } from '../key-states.js'
import {
  authorizationResponseSeconds,
  logoutTokenSeconds,
  statusListLifetimes,
  type KeyPurpose,
  type SignerProvider,
} from '../ports.js'
import type { Lifetime } from '../ring-key.js'
import type { ComponentHealth } from '../../observe/health.js'
import type { InventoryEntry } from './inventory.js'
import { describeGap, findGaps, type SigningNeed } from './signing-needs.js'

/** Seconds that relying parties may cache the key set. */
export const keySetMaxAge = 3600
/** Milliseconds that startup waits for keys. The rest are opened in the background. */
const openBudgetMs = 10_000

/** Seconds until the last token for one of these purposes has expired. Short-lived tokens count as access tokens. */
export const retention = (config: Config, purposes: readonly KeyPurpose[]): number => {
  const { attestation_ttl_secs: ttl = 0, reissue_grace_secs: grace = 0, status_list: lists } = config.attestation ?? {}
  const longest = Math.max(
    config.access_token_ttl_secs,
    ...config.resources.map((resource) => resource.access_token_ttl_secs ?? 0),
    purposes.includes('id_token') ? config.id_token_ttl_secs : 0,
    purposes.includes('attestation') ? ttl + grace : 0,
    purposes.includes('jarm') ? authorizationResponseSeconds : 0,
    purposes.includes('logout_token') ? logoutTokenSeconds : 0,
    purposes.includes('status_list') ? (lists?.ttl_secs ?? 0) * statusListLifetimes : 0,
  )
  return longest + config.clock_tolerance_secs
}

/** When a key with this configuration signs, and when its last token has expired. */
export const lifetimeOf = (
  config: Config,
  key: Pick<KeyConfiguration, 'purposes' | 'not_before' | 'not_after'>,
): Lifetime => lifetimeFrom(key, retention(config, key.purposes))

/** Seconds for which a grant that has ended must be remembered: until its last possible token has expired. */
export const grantLifetime = (config: Config): number =>
  config.refresh_token_absolute_ttl_secs + retention(config, ['access_token', 'id_token'])

/**
 * Seconds for which operators can find a grant by its person: until its last token has expired, however late it was
 * redeemed.
 */
export const grantEntryLifetime = (config: Config) => {
  const waiting = Math.max(config.authorization_code_ttl_secs, config.device_code_ttl_secs)
  return { offline: waiting + grantLifetime(config), online: waiting + retention(config, ['access_token', 'id_token']) }
}

/**
 * Opens and probes every key. Throws `ConfigurationError` with the path of each key that needs an operator. A backend
 * that does not answer is retried in the background (F32). Dispose of the ring before its providers.
 */
export const openRing = async (
  config: Config,
  keys: readonly InventoryEntry[],
  providers: ReadonlyMap<string, SignerProvider>,
  clock: Clock,
  supervision: Pick<
    KeyRingOptions,
    | 'inProcess'
    | 'log'
    | 'audit'
    | 'known'
    | 'earlierPurposes'
    | 'checkOpened'
    | 'publishedLate'
    | 'isWithheld'
    | 'previous'
    | 'isCurrent'
    | 'isFresh'
    | 'mayBeLate'
    | 'proved'
  > = {},
): Promise<SupervisedKeyRing> => {
  try {
    return await openKeyRing({
      ...supervision,
      keys,
      providers,
      clock,
      retentionSeconds: (purposes) => retention(config, purposes),
      cacheSeconds: keySetMaxAge,
      signal: AbortSignal.timeout(openBudgetMs),
    })
  } catch (error) {
    if (error instanceof KeysRefused) throw new ConfigurationError(error.problems)
    throw error
  }
}

/** Seconds between probes of an active or next key, unless its signer says otherwise. */
export const probeSeconds = 30

const signs = ({ state }: Pick<KeyReport, 'state'>): boolean => state === 'active' || state === 'next'

/** A key that is not well is probed as often as usual, so that it is found when it recovers. */
const isDue = (
  { trust, reason, probeAge, probeSeconds: own = probeSeconds }: KeyReport,
  intervals: number,
): boolean => {
  const isWell = trust === 'proved' && reason === undefined
  return probeAge >= (isWell ? own * intervals : Math.min(own, probeSeconds)) * 1000
}

/** Intervals without word of the process that proves the keys, after which another one proves them itself. */
const silentIntervals = 2

/**
 * Cheap enough to run every second: each active or next key signs a probe every 30 s, or as its signer says. Where
 * another process of the host proves the keys (`leads` is false), only keys do so that are not well, or that it has not
 * reported for two intervals.
 */
export const probeKeys = async (
  ring: Pick<SupervisedKeyRing, 'report' | 'probe'>,
  signal: AbortSignal,
  leads = true,
): Promise<void> => {
  const due = ring.report().keys.filter((key) => signs(key) && isDue(key, leads ? 1 : silentIntervals))
  const opened = due.filter(({ trust }) => trust !== 'unopened')
  await Promise.all([...new Set(opened.map(({ signer }) => signer))].map((signer) => ring.probe(signal, signer)))
}

/**
 * Describes the health of the keys without calling any backend. An active or next key is healthy when its published
 * key verified its last probe, and its signer responds and has not refused for good. An unhealthy next key is
 * reported but takes nothing down, because it is not needed yet; a retired key that is not published does. A purpose
 * without an active key is down, however healthy the others are.
 */
export const describeKeys = (
  ring: SupervisedKeyRing,
  needs: readonly SigningNeed[],
): Readonly<Record<string, ComponentHealth>> => {
  const { keys, signers } = ring.report()
  const away = new Set(signers.filter(({ circuit }) => circuit !== 'closed').map(({ name }) => name))
  const gaps = findGaps(needs, keys).map((gap): [string, ComponentHealth] => [
    gap.purpose,
    { status: 'down', message: describeGap(gap) },
  ])
  const parts = keys.flatMap((key): [string, ComponentHealth][] => {
    const { kid, signer, state, trust, published } = key
    const reason = key.reason ?? key.signerRefusal ?? (away.has(signer) ? 'the signer is not responding' : undefined)
    if (!signs(key) && (state === 'gone' || published)) return []
    if (trust === 'proved' && reason === undefined) return [[kid, { status: 'up' }]]
    const message = `${state}, in ${signer}: ${trust}${reason === undefined ? '' : `, ${reason}`}`
    return [[kid, { status: state === 'next' ? 'up' : 'down', message }]]
  })
  return Object.fromEntries([...parts, ...gaps])
}
