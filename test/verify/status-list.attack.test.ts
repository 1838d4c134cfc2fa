import { deflateSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createVerifier, type Verifier } from '../../libraries/verify/index.js'
import { createTestDevice, createTestIssuer } from '../support/verify/attested-device.js'
import { startIssuerSite } from '../support/verify/issuer-site.js'
import { reasonOf } from '../support/verify/reason-of.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

const audience = 'https://api.example'
let now = Date.UTC(2026, 0, 1)
const clock = () => now
const device = createTestDevice(clock)

let site: Awaited<ReturnType<typeof startIssuerSite>>
let verifier: Verifier
beforeEach(async () => {
  now = Date.UTC(2026, 0, 1)
  site = await startIssuerSite(clock)
  verifier = createVerifier({ issuers: [site.url], audience, clock })
})
afterEach(() => site.close())

const check = (status: unknown) =>
  reasonOf(
    verifier.check(
      new Request(`${audience}/`, {
        headers: {
          'x-attestation': site.attest(device.jkt, { status }),
          'x-signature': device.signature({ audience }),
        },
      }),
    ),
  )
const at = (idx: unknown, uri: unknown = site.listUri) => check({ status_list: { idx, uri } })
const fetched = () => site.asked.filter((path) => path === '/status-lists/1').length

describe('status lists', () => {
  it('VR29: a device that is revoked is refused within the ttl, and without a fetch per request', async () => {
    expect(await Promise.all(Array.from({ length: 20 }, () => at(9)))).toEqual(Array(20).fill('accepted'))
    site.revoked.add(9).add(63)
    now += 59_999
    expect(await at(9)).toBe('accepted')
    expect(fetched()).toBe(1)
    now += 1
    expect(await at(9)).toBe('device_not_active')
    expect(await at(63)).toBe('device_not_active')
    for (const other of [0, 1, 8, 10, 17, 62]) expect(await at(other)).toBe('accepted')
    expect(fetched()).toBe(2)
  })

  it('statuses of two, four and eight bits, of which only 0 is valid', async () => {
    for (const bits of [2, 4, 8]) {
      const bytes = Uint8Array.from({ length: 8 }, () => 0)
      const places = 8 / bits
      // Of index 5 the highest bit of its status.
      bytes[Math.floor(5 / places)] = 1 << ((5 % places) * bits + bits - 1)
      const status_list = { bits, lst: deflateSync(bytes).toString('base64url') }
      site.instead.set('/status-lists/1', site.list({ status_list }))
      now += 60_000
      expect(await Promise.all([4, 5, 6].map((idx) => at(idx)))).toEqual(['accepted', 'device_not_active', 'accepted'])
    }
  })

  it('a list may spell its type in another case', async () => {
    for (const typ of spellingsOf('statuslist+jwt')) {
      site.instead.set('/status-lists/1', site.list({}, { typ }))
      now += 60_000
      expect(await at(9), typ).toBe('accepted')
    }
  })

  it('VR30: a list of another issuer, type, place or time, and a malformed one', async () => {
    const second = now / 1000
    const zlib = (bytes: Uint8Array) => deflateSync(bytes).toString('base64url')
    const good = site.list()
    const [header = '', payload = ''] = good.split('.')
    for (const [what, text] of [
      ['another signer', createTestIssuer(site.url, clock).sign({ typ: 'statuslist+jwt' }, { sub: site.listUri })],
      ['no signature', `${header}.${payload}.AAAA`],
      ['another type', site.list({}, { typ: 'JWT' })],
      ['another kid', site.list({}, { kid: 'other' })],
      ['alg none', site.list({}, { alg: 'none' })],
      ['another place', site.list({ sub: `${site.url}/status-lists/2` })],
      ['another issuer', site.list({ iss: 'https://elsewhere.example' })],
      ['expired', site.list({ exp: second })],
      ['exp of another type', site.list({ exp: 'never' })],
      ['no time', site.list({ iat: undefined })],
      ['ttl of nothing', site.list({ ttl: 0 })],
      ['three bits', site.list({ status_list: { bits: 3, lst: zlib(new Uint8Array(8)) } })],
      ['no list', site.list({ status_list: undefined })],
      ['not compressed', site.list({ status_list: { bits: 1, lst: 'AAAA' } })],
      ['cut off', site.list({ status_list: { bits: 1, lst: zlib(new Uint8Array(800)).slice(0, -4) } })],
      ['a bomb', site.list({ status_list: { bits: 1, lst: zlib(new Uint8Array(100_000_000)) } })],
      ['too long', `${good}${' '.repeat(1_100_000)}`],
      ['a page', '<html></html>'],
      ['down', 500],
    ] as const) {
      site.instead.set('/status-lists/1', text)
      now += 5000
      expect([what, await at(1)]).toEqual([what, 'status_unavailable'])
    }
    site.instead.clear()
    now += 5000
    expect(await at(1)).toBe('accepted')
  })

  it('VR31: the verifier fetches nothing that is not below the issuer, and believes no index outside of a list', async () => {
    const other = new URL(site.url)
    other.hostname = 'localhost'
    for (const uri of [
      `${other.origin}/status-lists/1`,
      `${site.url}.evil.example/1`,
      `${site.url}@evil.example/1`,
      `${site.url}/a/../status-lists/1`,
    ])
      expect(await at(1, uri)).toBe('device_not_active')
    expect(fetched()).toBe(0)
    expect(await at(64)).toBe('device_not_active')
    for (const idx of [-1, 1.5, '1', null, undefined]) expect(await at(idx)).toBe('malformed')
    for (const status of [null, {}, [], 'valid', { status_list: 7 }, { other: {} }])
      expect(await check(status)).toBe('malformed')
  })

  it('VR32: when the ttl is over and the issuer is down, the answer is 503, and it is asked once in five seconds', async () => {
    expect(await at(1)).toBe('accepted')
    site.instead.set('/status-lists/1', 500)
    now += 60_000
    expect(await Promise.all(Array.from({ length: 20 }, () => at(1)))).toEqual(Array(20).fill('status_unavailable'))
    now += 4999
    expect(await at(1)).toBe('status_unavailable')
    expect(fetched()).toBe(2)
    site.instead.clear()
    now += 1
    expect(await at(1)).toBe('accepted')
  })
})
