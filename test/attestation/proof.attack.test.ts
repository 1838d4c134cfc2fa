import { createHmac, generateKeyPairSync, sign as signWith } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { expectNamed } from '../support/server/attestation-server.js'
import { device, expectBurnt, setUpAttestation } from '../support/server/attestation-set-up.js'

setUpAttestation()

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

describe('row 11: algorithms', () => {
  const part = (header: unknown, challenge: string): string => `${encode(header)}.${encode({ challenge })}`

  it.each([['none'], ['None'], ['HS256'], ['RS256'], ['ES384'], ['EdDSA'], ['es256'], ['ES256 '], [''], [undefined]])(
    'alg %s',
    (alg) => expectBurnt((challenge) => device.sign({ challenge }, { alg }), 'BadAlg'),
  )

  it.each([[['ES256']], [null], [{}], [1], [true]])('alg is %j', (alg) =>
    expectBurnt((challenge) => device.sign({ challenge }, { alg }), 'BadAlg'),
  )

  it('no signature, an HMAC under the public key, signatures of other lengths', async () => {
    await expectBurnt((challenge) => `${part({ alg: 'none' }, challenge)}.`, 'BadAlg')
    await expectBurnt((challenge) => {
      const input = part({ alg: 'HS256' }, challenge)
      return `${input}.${createHmac('sha256', JSON.stringify(device.jwk)).update(input).digest('base64url')}`
    }, 'BadAlg')
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    const by384 = (alg: string) => (challenge: string) => {
      const input = part({ alg }, challenge)
      const signature = signWith('sha384', Buffer.from(input), { key: privateKey, dsaEncoding: 'ieee-p1363' })
      return `${input}.${signature.toString('base64url')}`
    }
    await expectBurnt(by384('ES384'), 'BadAlg')
    await expectBurnt(by384('ES256'))
  })

  it('no answer repeats the algorithm', async () => {
    const challenge = await device.challenge()
    const answer = await device.complete(challenge, await device.sign({ challenge }, { alg: 'evil-algorithm' }))
    expect(answer.text).not.toContain('evil')
  })
})

describe('row 12: spellings of a JWS', () => {
  it.each<[string, (jws: string, challenge: string) => string]>([
    ['a line break at the end', (jws) => `${jws}\n`],
    ['blanks around it', (jws) => ` ${jws}`],
    ['padding', (jws) => `${jws}==`],
    ['a fourth segment', (jws) => `${jws}.AAAA`],
    ['two segments', (jws) => jws.split('.').slice(0, 2).join('.')],
    [
      'JSON serialisation',
      (jws) => {
        const [header, payload, signature] = jws.split('.')
        return JSON.stringify({ protected: header, payload, signature })
      },
    ],
    ['an empty signature', (jws) => `${jws.split('.').slice(0, 2).join('.')}.`],
    ['r = s = 0', (jws) => `${jws.split('.').slice(0, 2).join('.')}.${'A'.repeat(86)}`],
    [
      'trailing bits in the signature',
      (jws) => jws.slice(0, -1) + (jws.endsWith('A') ? 'B' : String.fromCharCode(jws.charCodeAt(jws.length - 1) + 1)),
    ],
    ['no JSON in the header', (jws) => `${encode('x')}.${jws.split('.').slice(1).join('.')}`],
    ['nothing', () => ''],
    ['dots', () => '..'],
  ])('%s', (_name, spell) => expectBurnt(async (challenge) => spell(await device.sign({ challenge }), challenge)))

  it('more than 2 kB, well signed', () =>
    expectBurnt((challenge) => device.sign({ challenge, padding: 'x'.repeat(1500) })))

  it('DER instead of r||s', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const jwk = publicKey.export({ format: 'jwk' })
    const { body } = await device.enrol({ public_jwk: jwk })
    const input = `${encode({ alg: 'ES256' })}.${encode({ challenge: body['challenge'] })}`
    const signed = (dsaEncoding: 'der' | 'ieee-p1363') =>
      `${input}.${signWith('sha256', Buffer.from(input), { key: privateKey, dsaEncoding }).toString('base64url')}`
    expectNamed(await device.complete(body['challenge'], signed('der')), 'ChallengeSignatureInvalid')
    expectNamed(await device.complete(body['challenge'], signed('ieee-p1363')), 'InvalidChallenge')
  })

  it.each([[{ crit: ['exp'] }], [{ crit: [] }], [{ b64: false, crit: ['b64'] }], [{ b64: true }], [{ crit: null }]])(
    'header %j',
    (header) => expectBurnt((challenge) => device.sign({ challenge }, { alg: 'ES256', ...header })),
  )

  it('repeated members, in header and payload', async () => {
    await expectBurnt((challenge) => device.sign(`{"challenge":"x","challenge":"${challenge}"}`))
    await expectBurnt((challenge) => device.sign(`{"challenge":"${challenge}","ch\\u0061llenge":"x"}`))
  })

  it.each([['[]'], ['"x"'], ['1'], ['null'], [''], ['{'], ['{"challenge":"\u0000"}']])('payload %s', (payload) =>
    expectBurnt(() => device.sign(payload)),
  )

  it('other members of the payload are ignored', async () => {
    const challenge = await device.challenge()
    const signature = await device.sign({ challenge, sub: 'mallory', jti: 'x', cnf: { jkt: 'x' } })
    expect((await device.complete(challenge, signature)).status).toBe(200)
  })
})
