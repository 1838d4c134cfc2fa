import { beforeAll, describe, expect, it } from 'vitest'
import { createAttestationTokens } from '../../core/attestation/attestation-token.js'
import type { KeyRing, SigningRequest } from '../../core/keys/ports.js'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import type { Client } from '../../core/oauth/clients/client.js'
import { createTokenIssuer } from '../../core/tokens/issuer.js'
import { standardReleases } from '../support/server/claim-releases.js'
import { backend, ec, key, never, open, start } from '../support/signers/memory-signer.js'

const once = 'signs it once'
const { client } = parseClientMetadata(
  {
    client_id: 'service',
    client_secret: 'a-secret-of-more-than-256-bits-for-tests',
    grant_types: ['client_credentials'],
    response_types: [],
  },
  ['read'],
) as { client: Client }

let opened: KeyRing
beforeAll(async () => {
  opened = await open([key('es')], backend(['es', ec()]), { now: start })
})

/** An issuer, and the orders that reach its keys. */
const newIssuer = (sign = (order: SigningRequest) => opened.sign(order)) => {
  const orders: SigningRequest[] = []
  const ring: KeyRing = {
    ...opened,
    sign: (order) => {
      orders.push(order)
      return sign(order)
    },
  }
  const shared = { issuer: 'https://id.example', ring, clock: () => start }
  const issuer = createTokenIssuer({
    ...shared,
    accessTokenAlg: 'ES256',
    idTokenAlg: 'ES256',
    accessTokenTtl: 600,
    idTokenTtl: 600,
    defaultAudience: 'https://id.example',
    releases: standardReleases,
    resources: new Map(),
  })
  const attestations = createAttestationTokens({
    ...shared,
    toleranceSeconds: 10,
    ttlSeconds: 3600,
    graceSeconds: 0,
    alg: 'ES256',
    typ: 'device-attestation+jwt',
  })
  return { issuer, attestations, orders }
}

const decision = { subject: 'service', scope: [] }
const device = {
  principal: { subject: 'alice', principalId: 'phone-1', principalType: 'device' },
  jkt: 'A'.repeat(43),
  attributes: {},
  enrolledAt: start / 1000,
} as const

describe('an issuer of tokens', () => {
  it('signs what it prepared once', async () => {
    const { issuer, orders } = newIssuer()
    const prepared = issuer.prepare(client, decision, undefined, undefined)
    await issuer.sign(prepared, 'machine', never, [])
    await expect(issuer.sign(prepared, 'machine', never, [])).rejects.toThrow(once)
    expect(orders).toHaveLength(1)
  })

  it('signs it once when two calls come at the same time, and never again after an outage', async () => {
    const { issuer, orders } = newIssuer(() => Promise.reject(new Error('down')))
    const prepared = issuer.prepare(client, decision, undefined, undefined)
    const both = [issuer.sign(prepared, 'machine', never, []), issuer.sign(prepared, 'machine', never, [])]
    const errors = (await Promise.allSettled(both)).map((result) => String((result as PromiseRejectedResult).reason))
    expect(errors).toEqual(['Error: down', expect.stringContaining(once)])
    await expect(issuer.sign(prepared, 'machine', never, [])).rejects.toThrow(once)
    expect(orders).toHaveLength(1)
  })

  it('signs neither a copy nor what another issuer prepared', async () => {
    const { issuer, orders } = newIssuer()
    const copy = { ...issuer.prepare(client, decision, undefined, undefined), subject: 'admin' }
    const foreign = newIssuer().issuer.prepare(client, decision, undefined, undefined)
    await expect(issuer.sign(copy, 'machine', never, [])).rejects.toThrow(once)
    await expect(issuer.sign(foreign, 'machine', never, [])).rejects.toThrow(once)
    expect(orders).toEqual([])
  })
})

describe('an issuer of attestations', () => {
  it('signs what it prepared once', async () => {
    const { attestations, orders } = newIssuer()
    const prepared = attestations.prepare(device)
    await attestations.sign(prepared, 'enrolment', never)
    await expect(attestations.sign(prepared, 'enrolment', never)).rejects.toThrow(once)
    expect(orders).toHaveLength(1)
  })

  it('signs neither a copy nor what another issuer prepared', async () => {
    const { attestations, orders } = newIssuer()
    const copy = { ...attestations.prepare(device) }
    const foreign = newIssuer().attestations.prepare(device)
    await expect(attestations.sign(copy, 'enrolment', never)).rejects.toThrow(once)
    await expect(attestations.sign(foreign, 'enrolment', never)).rejects.toThrow(once)
    expect(orders).toEqual([])
  })
})
