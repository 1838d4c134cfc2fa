import { ConfigurationError } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import type { Clock } from '../clock.js'
import { KeysRefused, openKeyRing, type ProvableKeyRing } from '../keys/key-ring.js'
import type { KeyPurpose, SignerProvider } from '../keys/ports.js'
import { Unavailable } from '../unavailable.js'

/** Seconds that relying parties may keep the key set. */
const keySetMaxAge = 3600
/** Milliseconds after which a key that does not open stops the start. */
const openBudgetMs = 10_000

/** Seconds until the last token for one of these purposes has run out. What lives for a moment counts as an access token. */
export const retention = (config: Config, purposes: readonly KeyPurpose[]): number => {
  const longest = Math.max(
    config.access_token_ttl_secs,
    ...config.resources.map((resource) => resource.access_token_ttl_secs ?? 0),
    purposes.includes('id_token') ? config.id_token_ttl_secs : 0,
  )
  return longest + config.clock_tolerance_secs
}

/** Opens and proves every key. Throws `ConfigurationError` with the path of each that cannot be used. */
export const openRing = async (
  config: Config,
  providers: ReadonlyMap<string, SignerProvider>,
  clock: Clock,
): Promise<ProvableKeyRing> => {
  try {
    return await openKeyRing({
      keys: config.keys,
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

/** A health check: every key that signs now or next signs a probe that its published key verifies. */
export const proveKeys = async (ring: ProvableKeyRing, signal: AbortSignal): Promise<void> => {
  const broken = (await ring.prove(signal)).filter(({ outcome }) => outcome !== 'proved')
  if (broken.length === 0) return
  const told = broken.map(({ kid, signer, outcome }) => `${kid} in ${signer}: ${outcome}`)
  throw new Unavailable('keys', 'no', told.join('; '))
}
