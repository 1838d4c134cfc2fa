import type { Config } from '../../../config/schema.js'
import type { Clock } from '../../clock.js'
import { createAuditSignatures } from '../../keys/audit-signatures.js'
import { KeyRefused, type SigningKey } from '../../keys/ports.js'
import { openRing } from '../../keys/lifecycle/open-ring.js'
import {
  describeExchanged,
  findPublished,
  inventoryAtReload,
  type KeyPublications,
} from '../../keys/lifecycle/publications.js'
import { expandSlots } from '../../keys/slots/expand-slots.js'
import type { SlotRecord } from '../../keys/slots/slot.js'
import type { AuditLog } from '../../observe/audit.js'
import { packType } from './pack.js'
import type { Backends } from './backends.js'

export interface AuditSignerOptions {
  readonly config: Config
  readonly publications: KeyPublications
  readonly slots: ReadonlyMap<string, SlotRecord>
  readonly backends: Backends
  readonly audit: AuditLog
  readonly clock: Clock
}

const encode = (text: string): string => Buffer.from(text).toString('base64url')

/** Whose public key is in the header, so that a verifier without a key can still see whose it was. */
const headerOf = ({ kid, alg, signer }: SigningKey): string =>
  encode(JSON.stringify({ alg, typ: packType, kid, jwk: signer.publicJwk }))

/** Signs a manifest as a compact JWS (RFC 7515 §7.1). */
export interface PackSigner extends AsyncDisposable {
  /** Throws `Unavailable`. */
  sign(manifest: string): Promise<string>
}

/** Milliseconds for the signature. */
const signMs = 30_000

/**
 * Opens the keys of the purpose `audit` that sign now, as a service does. Throws `ConfigurationError` for a key that
 * needs an operator.
 */
export const openPackSigner = async (options: AuditSignerOptions): Promise<PackSigner> => {
  const { config, publications, slots, backends, audit, clock } = options
  const entries = expandSlots(config.keys, slots).filter(({ purposes }) => purposes.includes('audit'))
  const { keys } = inventoryAtReload(entries, publications, clock())
  const ring = await openRing(config, keys, backends.providers, clock, {
    inProcess: backends.inProcess,
    audit,
    known: findPublished(entries, publications),
    checkOpened: (kid, thumbprint) => {
      const known = publications.get(kid)
      if (known !== undefined && known.thumbprint !== thumbprint) throw new KeyRefused(describeExchanged(kid, known))
    },
  })
  const signatures = createAuditSignatures({ ring, audit })
  return {
    async sign(manifest) {
      const payload = encode(manifest)
      const { input, signature } = await signatures.sign(packType, (key) => `${headerOf(key)}.${payload}`, {
        signal: AbortSignal.timeout(signMs),
      })
      return `${input}.${Buffer.from(signature).toString('base64url')}`
    },
    [Symbol.asyncDispose]: () => ring[Symbol.asyncDispose](),
  }
}
