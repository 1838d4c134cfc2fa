import type { Config } from '../../../config/schema.js'
import type { Clock } from '../../clock.js'
import { findAuditKeys, openAuditRing } from '../../keys/slots/audit-ring.js'
import { createAuditSignatures } from '../../keys/audit-signatures.js'
import type { SigningKey } from '../../keys/ports.js'
import type { KeyPublications } from '../../keys/lifecycle/publications.js'
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
 * Opens the keys of the purpose `audit`. Throws `ConfigurationError` for a key that needs an operator, and
 * `Unavailable` when none can sign now.
 */
export const openPackSigner = async (options: AuditSignerOptions): Promise<PackSigner> => {
  const { config, publications, slots, backends, audit, clock } = options
  const keys = findAuditKeys(config, slots)
  const { providers, inProcess } = backends
  const { ring, alg } = await openAuditRing({ config, keys, publications, providers, inProcess, clock, audit })
  const signatures = createAuditSignatures({ ring, audit })
  return {
    async sign(manifest) {
      const payload = encode(manifest)
      const { input, signature } = await signatures.sign(packType, (key) => `${headerOf(key)}.${payload}`, {
        alg,
        signal: AbortSignal.timeout(signMs),
      })
      return `${input}.${Buffer.from(signature).toString('base64url')}`
    },
    [Symbol.asyncDispose]: () => ring[Symbol.asyncDispose](),
  }
}
