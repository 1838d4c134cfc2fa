import { createPublicKey, verify } from 'node:crypto'
import { httpbis } from 'http-message-signatures'
import { beforeEach, describe, expect, it } from 'vitest'
import { addHttpSignature } from '../../libraries/device/sign.js'
import { createVerifier, type Verifier } from '../../libraries/verify/index.js'
import { signatureBase, writeSignatureParams, type CoveredComponents } from '../../libraries/wire/signature-base.js'
import { createTestDevice, createTestIssuer } from '../support/verify/attested-device.js'
import { reasonOf } from '../support/verify/reason-of.js'

const origin = 'https://api.example'
const issuer = createTestIssuer('https://issuer.example', Date.now)
const device = createTestDevice(Date.now)
const attestation = issuer.attest(device.jkt)

const make = (options = {}): Verifier =>
  createVerifier({ issuers: [{ issuer: issuer.issuer, jwks: issuer.jwks() }], audience: origin, ...options })
let verifier: Verifier
beforeEach(() => {
  verifier = make()
})

const post = () =>
  new Request(`${origin}/pay?to=bob`, {
    method: 'POST',
    body: '{"amount":7}',
    headers: { 'content-type': 'application/json' },
  })
const signed = (request = post()) =>
  addHttpSignature(request, device.key, attestation, { audience: origin }, Date.now() / 1000)

/** The request with other headers: undefined takes one away. */
const changed = (request: Request, headers: Record<string, string | undefined>, init: RequestInit = {}): Request => {
  const all = new Headers(request.headers)
  for (const [name, value] of Object.entries(headers))
    if (value === undefined) all.delete(name)
    else all.set(name, value)
  return new Request(request, { ...init, headers: all })
}
const input = (request: Request): string => request.headers.get('signature-input') ?? ''

/** As `device.sign` makes it, of components and parameters that a test chooses. */
const handmade = async (
  components: Record<string, string>,
  parameters: object = {},
  header?: (input: string) => string,
) => {
  const created = Math.floor(Date.now() / 1000)
  const usual = { created, expires: created + 60, nonce: crypto.randomUUID(), keyid: device.jkt, tag: 'signet-device' }
  const key = `sig=hwk;kty="EC";crv="P-256";x="${device.jwk.x}";y="${device.jwk.y}"`
  const covered = { ...components, 'x-attestation': attestation, 'signature-key': key } as unknown as CoveredComponents
  const params = writeSignatureParams(covered, { ...usual, ...parameters })
  const bytes = await device.key.sign(Buffer.from(signatureBase(covered, params)))
  return {
    'x-attestation': attestation,
    'signature-key': key,
    'signature-input': header?.(params) ?? `sig=${params}`,
    signature: `sig=:${Buffer.from(bytes).toString('base64')}:`,
  }
}
const whole = { '@method': 'GET', '@target-uri': `${origin}/a` }
const check = (headers: Record<string, string>, target = '/a') =>
  reasonOf(verifier.check(new Request(`${origin}${target}`, { headers })))

describe('what device.sign makes', () => {
  it('is accepted, with its body, once', async () => {
    const request = await signed()
    const again = request.clone()
    const { principal, body } = await verifier.check(request)
    expect(principal).toMatchObject({ subject: 'alice', principalId: 'phone-1' })
    expect(Buffer.from(body).toString()).toBe('{"amount":7}')
    expect(await reasonOf(verifier.check(again))).toBe('replay_detected')
  })

  it('is accepted without a body, with a query, and with a ? that has nothing behind it', async () => {
    for (const target of ['/', '/a?b=c&d=%20', '/a/%2F?', '/a#fragment'])
      await verifier.check(await signed(new Request(`${origin}${target}`)))
  })

  it('is verified by http-message-signatures', async () => {
    const request = await signed()
    const key = createPublicKey({ key: { ...device.jwk }, format: 'jwk' })
    const message = { method: request.method, url: request.url, headers: Object.fromEntries(request.headers) }
    const keyLookup = ({ keyid }: { keyid?: string }) =>
      Promise.resolve(
        keyid === device.jkt
          ? {
              id: keyid,
              algs: ['ecdsa-p256-sha256'],
              verify: (data: Buffer, signature: Buffer) =>
                Promise.resolve(verify('sha256', data, { key, dsaEncoding: 'ieee-p1363' }, signature)),
            }
          : null,
      )
    expect(await httpbis.verifyMessage({ keyLookup, all: true }, message)).toBe(true)
    const forged = { ...message, method: 'PUT' }
    expect(await httpbis.verifyMessage({ keyLookup, all: true }, forged)).toBe(false)
  })

  it('VR22: may stand beside another signature, such as a proxy’s', async () => {
    const request = await signed()
    const other = 'proxy=("@method" "x-forwarded-for";bs);created=1;keyid="p\\"x";alg="hmac-sha256"'
    const added = {
      'signature-input': `${other}, ${input(request)}`,
      signature: `proxy=:AAAA:, ${request.headers.get('signature') ?? ''}`,
    }
    expect(await reasonOf(verifier.check(changed(request, added)))).toBe('accepted')
  })
})

describe('HTTP message signatures that are refused', () => {
  it('VR22: any component is changed', async () => {
    const request = await signed()
    const other = await addHttpSignature(
      post(),
      createTestDevice(Date.now).key,
      attestation,
      { audience: origin },
      Date.now() / 1000,
    )
    const body = request.headers.get('content-digest') ?? ''
    for (const [what, sent] of [
      ['method', new Request(request.clone(), { method: 'PUT' })],
      [
        'query',
        new Request(`${origin}/pay?to=eve`, { method: 'POST', body: '{"amount":7}', headers: request.headers }),
      ],
      ['path', new Request(`${origin}/PAY?to=bob`, { method: 'POST', body: '{"amount":7}', headers: request.headers })],
      ['content-type', changed(request.clone(), { 'content-type': 'text/html' })],
      ['digest', changed(request.clone(), { 'content-digest': body.replace(/:..../, ':AAAA') })],
      ['expires', changed(request.clone(), { 'signature-input': input(request).replace(/expires=\d/, 'expires=2') })],
    ] as const)
      expect([what, await reasonOf(verifier.check(sent))]).toEqual([what, 'bad_signature'])
    expect(await reasonOf(verifier.check(other))).toBe('key_not_bound')
    const attested = changed(request.clone(), { 'x-attestation': issuer.attest(device.jkt) })
    expect(await reasonOf(verifier.check(attested))).toBe('bad_signature')
    const replaced = new Request(request.url, { method: 'POST', body: 'other', headers: request.headers })
    expect(await reasonOf(verifier.check(replaced))).toBe('body_mismatch')
    const emptied = new Request(request.url, { method: 'POST', headers: request.headers })
    expect(await reasonOf(verifier.check(emptied))).toBe('body_mismatch')
  })

  it('VR22: it does not cover all that it has to, or more', async () => {
    expect(await check(await handmade(whole))).toBe('accepted')
    expect(await check(await handmade({ '@target-uri': whole['@target-uri'], '@method': 'GET' }))).toBe('accepted')
    expect(await check(await handmade({ '@method': 'GET' }))).toBe('malformed')
    expect(await check(await handmade({ '@target-uri': whole['@target-uri'] }))).toBe('malformed')
    expect(await check(await handmade({ ...whole, '@authority': 'api.example' }))).toBe('malformed')
    expect(await check(await handmade({ ...whole, date: 'now' }))).toBe('malformed')
    const typed = { ...(await handmade(whole)), 'content-type': 'text/plain' }
    expect(await check(typed)).toBe('malformed')
    const digest = 'sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:'
    expect(await check({ ...(await handmade({ ...whole, 'content-digest': digest })), 'content-digest': digest })).toBe(
      'body_mismatch',
    )
  })

  it('VR22: parameters that are missing, twice, of another type or more', async () => {
    const spelled = async (from: string | RegExp, to: string) =>
      check(await handmade(whole, {}, (params) => `sig=${params.replace(from, to)}`))
    for (const [from, to] of [
      [/;created=\d+/, ''],
      [/;expires=\d+/, ''],
      [/;nonce="[^"]*"/, ''],
      [/;nonce="[^"]*"/, ';nonce=""'],
      [/;keyid="[^"]*"/, ''],
      [/;created=(\d+)/, ';created="x"'],
      [/;created=(\d+)/, ';created=-$1'],
      [/;created=(\d+)/, ';created=$1.5'],
      [/;created=(\d+)/, ';created=$1;created=$1'],
      [/$/, ';more=1'],
      ['"@method"', '"@method" "@method"'],
      ['"@method"', '"@method";req'],
      [' ', '  '],
      ['(', '( '],
    ] as const)
      expect([to, await spelled(from, to)]).toEqual([to, 'malformed'])
    expect(await spelled(/$/, ';alg="hmac-sha256"')).toBe('bad_alg')
    expect(await check(await handmade(whole, { keyid: 'another' }))).toBe('key_not_bound')
    expect(await check(await handmade(whole, { tag: 'another' }))).toBe('missing_credential')
  })

  it('VR22: malformed dictionaries, and two signatures that both claim to be the device’s', async () => {
    const good = await handmade(whole)
    for (const spoilt of ['sig', 'sig=', 'sig=(', `${good['signature-input']},`, `${good['signature-input']} x=1`])
      expect(await check({ ...good, 'signature-input': `${spoilt};tag="signet-device"` })).toBe('malformed')
    const params = good['signature-input'].slice('sig='.length)
    expect(await check({ ...good, 'signature-input': `sig=${params}, sig=${params}` })).toBe('malformed')
    expect(await check({ ...good, 'signature-input': `sig=${params}, two=${params}` })).toBe('malformed')
    for (const signature of ['sig=AAAA', 'sig=:AAAA', 'other=:AAAA:', ':AAAA:', 'sig=:A A:'])
      expect(await check({ ...good, signature })).toBe('malformed')
    for (const key of ['sig=jwt;jwt="x"', 'other=hwk;kty="EC"', 'hwk', 'sig=hwk;kty'])
      expect([key, await check({ ...good, 'signature-key': key })]).toEqual([
        key,
        key === 'sig=hwk;kty' ? 'bad_jwk' : 'malformed',
      ])
  })

  it('VR22: it is valid for too long, or not now', async () => {
    const at = Math.floor(Date.now() / 1000)
    expect(await check(await handmade(whole, { created: at, expires: at + 301 }))).toBe('lifetime_too_long')
    expect(await check(await handmade(whole, { created: at - 200, expires: at - 100 }))).toBe('signature_expired')
  })

  it('VR23: the verifier does not ask the request where it is', async () => {
    const elsewhere = make({ audience: 'https://other.example' })
    const request = await signed()
    // The thief sends it on with the Host of the one that it was for.
    expect(await reasonOf(elsewhere.check(request.clone()))).toBe('bad_signature')
    expect(await reasonOf(make({ audience: 'payments' }).check(request.clone()))).toBe('missing_credential')
    expect(await reasonOf(make({ audience: 'payments', origin }).check(request.clone()))).toBe('accepted')
  })

  it('VR05: both forms at once', async () => {
    const both = changed(await signed(), { 'x-signature': device.signature({ audience: origin }) })
    expect(await reasonOf(verifier.check(both))).toBe('duplicate_header')
  })

  it('reads long garbage in no time', async () => {
    const good = await handmade(whole)
    const garbage = [`sig=(${'"a" '.repeat(900)}`, `sig=(${'"a";b'.repeat(600)}`, `sig=(${'\\"'.repeat(1500)}`]
    for (const text of garbage)
      expect(await check({ ...good, 'signature-input': `${text};tag="signet-device"` })).toBe('malformed')
  }, 5000)
})
