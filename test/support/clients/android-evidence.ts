import { calculateJwkThumbprint } from 'jose'
import { beforeAll, expect } from 'vitest'
import type { EvidenceVerifier } from '../../../core/api/attestation.js'
import type { PublicJwk } from '../../../core/api/signer.js'
import plugin from '../../../plugins/attestation/evidence-android-key/index.js'
import {
  createAndroidPhone,
  describeKey,
  packageName,
  signatureDigest,
  x5cOf,
  type AndroidPhone,
  type DescriptionRequest,
} from '../forge/android-key.js'
import type { IssuedCertificate } from '../forge/certificates.js'

type Json = Record<string, unknown>

export const challenge = 'c'.repeat(72)
const noRevocations = JSON.stringify({ entries: {} })
export const high = { key_storage: ['iso_18045_high'], user_authentication: ['iso_18045_moderate'] }

export let phone: AndroidPhone

/** Gives the test file that calls it a phone. */
export const setUpAndroid = (): void => {
  beforeAll(async () => {
    phone = await createAndroidPhone()
  })
}

export const settings = (changes: Json = {}): Json => ({
  roots: [phone.root.pem],
  revocation_list: noRevocations,
  packages: [{ name: packageName, signature_digests: [signatureDigest] }],
  security_levels: { trusted_environment: { key_storage: ['iso_18045_moderate'] }, strong_box: high },
  ...changes,
})

const noOutbound = () => Promise.reject(new Error('nothing is fetched'))

export const verifierOf = async (changes: Json = {}): Promise<EvidenceVerifier> => {
  const checked = await plugin.options?.['~standard'].validate(settings(changes))
  if (checked === undefined || !('value' in checked)) throw new Error(JSON.stringify(checked?.issues))
  const made = await plugin.create(checked.value, {
    clock: Date.now,
    outbound: { fetch: noOutbound, ask: noOutbound, request: noOutbound },
  })
  return made.evidence?.[0] as EvidenceVerifier
}

export const ask = async (evidence: Json, changes: Json = {}, jwk = phone.batch.publicJwk) => {
  const key = jwk as unknown as PublicJwk
  const { signal } = new AbortController()
  const verifier = await verifierOf(changes)
  return verifier.verify(
    {
      principal: { subject: 'alice', principalId: 'phone-1', principalType: 'device' },
      ...{ jwk: key, jkt: await calculateJwkThumbprint(jwk), challenge, signal },
    },
    evidence as never,
  )
}

export const askFor = (
  leaf: IssuedCertificate,
  chain: readonly IssuedCertificate[] = [phone.batch, phone.root],
  changes: Json = {},
) => ask({ x5c: x5cOf(leaf, ...chain) }, changes, leaf.publicJwk)

export const describeAs = (request: Partial<DescriptionRequest> = {}): Buffer => describeKey({ challenge, ...request })

export const askAbout = async (request: Partial<DescriptionRequest>, changes: Json = {}) =>
  askFor(await phone.issue(describeAs(request)), undefined, changes)

export const refused = (reason: string | RegExp) => ({
  ok: false,
  reason: expect.stringMatching(typeof reason === 'string' ? `^android key: ${reason}$` : reason) as string,
})
