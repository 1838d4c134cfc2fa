import type { Config } from '../../../config/schema.js'
import type { Clock } from '../../clock.js'
import type { JwsAlg } from '../../jose/jwk.js'
import type { InventoryEntry } from '../lifecycle/inventory.js'
import { openRing } from '../lifecycle/open-ring.js'
import { describeExchanged, findPublished, type KeyPublications } from '../lifecycle/publications.js'
import { KeyRefused, type SignerProvider } from '../ports.js'
import type { SupervisedKeyRing } from '../key-ring.js'
import { expandSlots } from './expand-slots.js'
import type { SlotRecord } from './slot.js'
import type { AuditLog } from '../../observe/audit.js'
import { Unavailable } from '../../unavailable.js'

/** The keys that may sign for auditors, as the configuration and its slots have them now. */
export const findAuditKeys = (config: Config, records: ReadonlyMap<string, SlotRecord>): readonly InventoryEntry[] =>
  expandSlots(config.keys, records).filter(({ purposes }) => purposes.includes('audit'))

export interface AuditRingOptions {
  readonly config: Config
  readonly keys: readonly InventoryEntry[]
  readonly publications: KeyPublications
  readonly providers: ReadonlyMap<string, SignerProvider>
  readonly inProcess: ReadonlySet<string>
  readonly clock: Clock
  readonly audit: AuditLog
}

/** A ring of keys for auditors alone, and the algorithm that one of them signs now. */
export interface AuditRing {
  readonly ring: SupervisedKeyRing
  readonly alg: JwsAlg
}

const canSign = (ring: SupervisedKeyRing, alg: JwsAlg): boolean => {
  try {
    ring.signingKey('audit', alg)
    return true
  } catch (error) {
    if (error instanceof Unavailable) return false
    throw error
  }
}

/**
 * Opens and proves these keys. Throws `ConfigurationError` for a key that needs an operator, and `Unavailable` when
 * none can sign now.
 */
export const openAuditRing = async (options: AuditRingOptions): Promise<AuditRing> => {
  const { config, keys, publications, providers, inProcess, clock, audit } = options
  const checkOpened = (kid: string, thumbprint: string): void => {
    const known = publications.get(kid)
    if (known !== undefined && known.thumbprint !== thumbprint) throw new KeyRefused(describeExchanged(kid, known))
  }
  const known = findPublished(keys, publications)
  const ring = await openRing(config, keys, providers, clock, { inProcess, audit, known, checkOpened })
  const alg = ring.algorithms('audit').find((one) => canSign(ring, one))
  if (alg !== undefined) return { ring, alg }
  const [silent] = ring.report().keys
  await ring[Symbol.asyncDispose]()
  throw new Unavailable(
    silent === undefined ? 'keys' : `signers.${silent.signer}`,
    'no',
    `no key with the purpose audit can sign now${silent?.reason === undefined ? '' : `: ${silent.kid}: ${silent.reason}`}`,
  )
}
