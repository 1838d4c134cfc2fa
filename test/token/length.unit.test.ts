import { beforeAll, describe, expect, it } from 'vitest'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import type { Client } from '../../core/oauth/clients/client.js'
import { createTokenIssuer, type TokenIssuer } from '../../core/tokens/issuer.js'
import { standardReleases } from '../support/server/claim-releases.js'
import { backend, ec, key, never, open, start } from '../support/signers/memory-signer.js'

const { client } = parseClientMetadata(
  {
    client_id: 'web',
    client_secret: 'a-secret-of-more-than-256-bits-for-tests',
    redirect_uris: ['https://web.example/cb'],
  },
  ['openid', 'profile'],
) as { client: Client }

let issuer: TokenIssuer
beforeAll(async () => {
  issuer = createTokenIssuer({
    issuer: 'https://id.example',
    ring: await open([key('k'.repeat(100))], backend(['k'.repeat(100), ec()]), { now: start }),
    clock: () => start,
    accessTokenAlg: 'ES256',
    idTokenAlg: 'ES256',
    accessTokenTtl: 600,
    idTokenTtl: 600,
    defaultAudience: 'https://id.example',
    releases: standardReleases,
    resources: new Map(),
  })
})

const decision = {
  subject: 'alice',
  scope: ['openid'],
  authentication: { auth_time: start / 1000 },
  idToken: true,
  requestedClaims: { id_token: { picture: null } },
}
const prepare = (picture: string) =>
  issuer.prepare(client, decision, { subject: 'alice', claims: { picture } }, undefined)

describe('a token with a claim that was asked for', () => {
  it('TK13 has it up to the last character that there is room for', async () => {
    const lengths: number[] = []
    for (let size = 5600; size < 6000; size++) {
      const prepared = prepare('x'.repeat(size))
      if (prepared.dropped.length > 0) continue
      const { idToken = '' } = await issuer.sign(prepared, 'sign_in', never, [])
      lengths.push(idToken.length)
    }
    expect(Math.max(...lengths)).toBeLessThanOrEqual(8192)
    expect(Math.max(...lengths)).toBeGreaterThan(8185)
    expect(lengths.length).toBeLessThan(400)
  })
})

it('TK13 claims of a plugin that are too large are its bug before anything is signed', () => {
  const further = (size: number) => ({ subject: 'web', scope: [], claims: { a: 'x'.repeat(size) } })
  expect(() => issuer.prepare(client, further(4096), undefined, undefined)).toThrow('4096 bytes')
  expect(() => issuer.prepare(client, further(4000), undefined, undefined)).not.toThrow()
})
