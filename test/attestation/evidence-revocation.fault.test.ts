import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Unavailable } from '../../core/api/index.js'
import { createOutboundFetch, createOutboundRequest } from '../../core/outbound/outbound-fetch.js'
import { createOutbound } from '../../core/outbound/webhook.js'
import { createRevocationList } from '../../plugins/attestation/evidence-android-key/revocation-list.js'
import type { Options } from '../../plugins/attestation/evidence-android-key/options.js'
import { jsonAnswer, noAnswers, openSite, textAnswer, type Site } from '../support/server/site.js'

// A list of revoked certificates that cannot be fetched revokes nobody and trusts nobody (F35).

const list = (...serials: string[]) =>
  jsonAnswer({ entries: Object.fromEntries(serials.map((serial) => [serial, { status: 'REVOKED' }])) })

let site: Site
let now = 0
beforeAll(async () => {
  site = await openSite()
})
beforeEach(() => {
  now = 1_800_000_000_000
  site.asked.length = 0
  site.answer = list('ab')
})
afterAll(() => site[Symbol.asyncDispose]())

const open = () => {
  const options = {
    revocation_list_url: `${site.url}/status`,
    revocation_list_max_age_secs: 3600,
    revocation_list_stale_secs: 7200,
  } as Options
  const clock = () => now
  const reach = { allowPrivateAddresses: true }
  const outbound = createOutbound(createOutboundFetch(reach), createOutboundRequest(reach), clock)
  return createRevocationList(options, { clock, outbound })
}
const later = (seconds: number) => void (now += seconds * 1000)

describe('the list of revoked certificates', () => {
  it('is fetched once for all waiting requests, and again when it is too old', async () => {
    const revoked = open()
    const all = await Promise.all(Array.from({ length: 20 }, () => revoked()))
    for (const serials of all) expect([...serials]).toEqual(['ab'])
    expect(site.asked).toHaveLength(1)
    later(3599)
    await revoked()
    expect(site.asked).toHaveLength(1)
    site.answer = list('ab', 'cd')
    later(1)
    expect([...(await revoked())]).toEqual(['ab', 'cd'])
    expect(site.asked).toHaveLength(2)
  })
  it('may be longer than other answers', async () => {
    const serials = Array.from({ length: 5000 }, (_, n) => (n + 1).toString(16))
    site.answer = list(...serials)
    expect((await open()()).size).toBe(5000)
  })
  it.each([
    ...(['answers 500', 'answers 204', 'redirects', 'closes the connection', 'closes in the middle'] as const).map(
      (name) => [name, noAnswers[name]] as const,
    ),
    ['is no JSON', textAnswer('<html>')] as const,
    ['has no entries', jsonAnswer({})] as const,
    ['has a list of entries', jsonAnswer({ entries: [] })] as const,
    ['has serials that are none', list('not hexadecimal')] as const,
    ['is endless', textAnswer(Buffer.alloc(9 * 1024 * 1024, ' '))] as const,
  ])('that %s: unavailable without an earlier list, never taken for an empty one', async (_name, answer) => {
    if (answer === undefined) throw new Error('no such answer')
    const revoked = open()
    site.answer = answer
    await expect(revoked()).rejects.toBeInstanceOf(Unavailable)
    site.answer = list('ab')
    expect([...(await revoked())]).toEqual(['ab'])
  })
  it('stays in use until it expires, with rare retries', async () => {
    const revoked = open()
    await revoked()
    site.answer = noAnswers['answers 500'] ?? expect.unreachable()
    later(3600)
    for (let times = 0; times < 5; times++) expect([...(await revoked())]).toEqual(['ab'])
    expect(site.asked).toHaveLength(2)
    later(7199)
    expect([...(await revoked())]).toEqual(['ab'])
    later(1)
    await expect(revoked()).rejects.toBeInstanceOf(Unavailable)
  })
  it('does not become fresh again when the clock is set back', async () => {
    const revoked = open()
    await revoked()
    later(-20_000)
    site.answer = noAnswers['answers 500'] ?? expect.unreachable()
    await expect(revoked()).rejects.toBeInstanceOf(Unavailable)
  })
})
