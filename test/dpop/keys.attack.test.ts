import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createProver } from '../support/clients/dpop-proof.js'
import { dpop, refused, setUpDpop } from '../support/server/dpop-set-up.js'
import { decode } from '../support/forge/forge.js'

setUpDpop()

describe('keys of proofs', () => {
  it('DP06 private or symmetric members, and algorithms without a public key', async () => {
    const { jwk, privateKey } = dpop.prover
    const secret = privateKey.export({ format: 'jwk' })
    for (const member of ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv', 'seed'])
      for (const value of ['AQAB', '', null]) await refused({ header: { jwk: { ...jwk, [member]: value } } })
    await refused({ header: { jwk: secret } })
    await refused({ header: { jwk: { kty: 'oct', k: 'AQAB' }, alg: 'HS256' } })
    for (const alg of [
      'none',
      'None',
      'HS256',
      'HS512',
      'es256',
      'ES256K',
      'ed25519',
      'Ed448',
      'RSA-OAEP',
      '',
      undefined,
      null,
      1,
      ['ES256'],
      ['Ed25519'],
    ])
      await refused({ header: { alg } })
    await refused({ header: { alg: 'none' }, signature: () => Buffer.alloc(0) })
    for (const bad of [undefined, null, 'x', 1, [], [jwk], {}, { kty: 'EC' }, { ...jwk, kty: 'ec' }])
      await refused({ header: { jwk: bad } })
  })

  it('DP11 keys that are expensive to verify with', async () => {
    const rsa = (bits: number, exponent = 65537) =>
      generateKeyPairSync('rsa', { modulusLength: bits, publicExponent: exponent }).publicKey.export({ format: 'jwk' })
    const modulus = rsa(2048)
    const huge = Buffer.alloc(384, 0xff).toString('base64url')
    const p521 = generateKeyPairSync('ec', { namedCurve: 'P-521' }).publicKey.export({ format: 'jwk' })
    const signature = () => Buffer.alloc(256)
    for (const jwk of [
      ...[rsa(1024), rsa(2048, 3), { ...rsa(3072), e: huge }, { ...modulus, e: 'AQ' }, { ...modulus, e: 'AAEAAQ' }],
      ...[
        { ...modulus, n: Buffer.alloc(2048, 0xff).toString('base64url') },
        { ...modulus, n: `AAAA${modulus.n}` },
      ],
    ])
      for (const alg of ['RS256', 'PS256']) await refused({ header: { alg, jwk }, signature })
    for (const alg of ['ES512', 'ES256', 'ES384']) await refused({ header: { alg, jwk: p521 }, signature })
  })

  it('DP12 points off their curve, another type than the algorithm’s, another use', async () => {
    const { jwk } = dpop.prover
    const p384 = createProver('ES384')
    const ed25519 = createProver('EdDSA')
    const zero = Buffer.alloc(32).toString('base64url')
    const flipped = Buffer.from(String(jwk['y']), 'base64url')
    flipped[31] = (flipped[31] ?? 0) ^ 1
    for (const bad of [
      ...[
        { ...jwk, x: zero, y: zero },
        { ...jwk, y: jwk['x'] },
        { ...jwk, y: flipped.toString('base64url') },
      ],
      ...[
        { ...jwk, x: `${String(jwk['x'])}=` },
        { ...jwk, x: `AA${String(jwk['x'])}` },
        { ...jwk, crv: 'P-384' },
      ],
      ...[
        { ...jwk, use: 'enc' },
        { ...jwk, key_ops: ['sign'] },
        { ...jwk, key_ops: ['verify', 'sign'] },
      ],
      ...[
        { ...jwk, alg: 'ES384' },
        { ...jwk, alg: 'ECDH-ES' },
        { ...jwk, n: 'AQAB' },
        { ...jwk, kid: 1 },
      ],
      ...[p384.jwk, ed25519.jwk, { ...ed25519.jwk, x: zero }],
    ])
      await refused({ header: { jwk: bad } })
    await refused({ header: { alg: 'EdDSA', jwk: { ...ed25519.jwk, x: zero } }, signature: () => Buffer.alloc(64) })
    for (const alg of ['RS256', 'ES384', 'EdDSA', 'Ed25519', 'PS256']) await refused({ header: { alg } })
    // What was once taken does not lend its place to the same key with another member.
    expect((await dpop.ask(await dpop.proof({ header: { jwk: { ...jwk, use: 'sig' } } }))).status).toBe(200)
    await refused({ header: { jwk: { ...jwk, use: 'enc' } } })
  })

  it.each(['ES256', 'ES384', 'EdDSA', 'RS256', 'RS384', 'RS512', 'PS256'] as const)('%s proofs pass', async (alg) => {
    const prover = createProver(alg, dpop.host.now)
    const answer = await dpop.ask(await dpop.proof({}, prover))
    expect(answer).toMatchObject({ status: 200, body: { token_type: 'DPoP' } })
    expect(decode(String(answer.body['access_token']), 1)['cnf']).toEqual({ jkt: prover.jkt })
  })

  it('EdDSA is understood by its newer name too, in the header and in the key (RFC 9864)', async () => {
    const { jwk, ...prover } = createProver('EdDSA', dpop.host.now)
    const wished = [
      { alg: 'Ed25519' },
      { alg: 'Ed25519', jwk: { ...jwk, alg: 'Ed25519' } },
      { jwk: { ...jwk, alg: 'Ed25519' } },
    ]
    for (const header of wished) {
      const answer = await dpop.ask(await dpop.proof({ header }, { jwk, ...prover }))
      expect(answer).toMatchObject({ status: 200, body: { token_type: 'DPoP' } })
      expect(decode(String(answer.body['access_token']), 1)['cnf']).toEqual({ jkt: prover.jkt })
    }
    await refused({ header: { alg: 'Ed25519', jwk: { ...dpop.prover.jwk } } })
    const metadata = await (await fetch(`${dpop.host.server.issuer}/.well-known/openid-configuration`)).json()
    expect(metadata).toMatchObject({ dpop_signing_alg_values_supported: expect.arrayContaining(['EdDSA', 'Ed25519']) })
  })

  it('a proof with every JOSE key header is verified with only its jwk', async () => {
    const stranger = createProver()
    const pem = createPublicKey(stranger.privateKey).export({ format: 'der', type: 'spki' }).toString('base64')
    const header = { kid: 'es256', jku: 'http://127.0.0.1:1/jwks', x5u: 'http://127.0.0.1:1/x', x5c: [pem] }
    expect((await dpop.ask(await dpop.proof({ header }))).status).toBe(200)
    await refused({ header: { ...header, jwk: undefined } })
    await refused({ header: { ...header, jwk: stranger.jwk } })
  })
})
