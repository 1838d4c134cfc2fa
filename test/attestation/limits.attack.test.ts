import { describe, expect, it } from 'vitest'
import { postJson } from '../support/clients/attestation.js'
import { createEvidenceChallenges } from '../../core/attestation/evidence-challenges.js'
import { expectNamed, startAttestationServer } from '../support/server/attestation-server.js'
import { collectionsOf } from '../support/forge/mint.js'

const wide = { address_per_minute: 100_000, key_per_minute: 100_000, subject_per_minute: 100_000, principal_free: 1000 }
const word = (value: string) => ({ second_factor: { kind: 'word', value } })

/** A fresh minute, so that no window ends within a test. */
const atMinute = (server: Awaited<ReturnType<typeof startAttestationServer>>): void => {
  server.host.later(60_000 - (server.host.now() % 60_000))
}

/** Requests that were over a limit, by limit. */
const hits = async ({ host }: Awaited<ReturnType<typeof startAttestationServer>>): Promise<Record<string, number>> => {
  const metrics = await (await fetch(`${host.server.admin}/metrics`)).text()
  const found = metrics.matchAll(/^signet_rate_limit_hits_total\{limit="(\w+)",issuer="[^"]+"\} (\d+)$/gm)
  return Object.fromEntries(Array.from(found, ([, limit = '', count]) => [limit, Number(count)]))
}

describe('row 31: guesses', () => {
  it('at one principal wait longer and longer, also for unknown ones, and the factor is not called meanwhile', async () => {
    await using server = await startAttestationServer({ limits: { ...wide, principal_free: 3 } })
    for (const subject of ['alice', 'nobody']) {
      const device = await server.device({ subject, ...word('wrong') })
      const asked = server.double.asked.length
      for (let count = 0; count < 4; count++) expectNamed(await device.enrol(), 'SecondFactorFailed')
      const limited = await device.enrol()
      expectNamed(limited, 'RateLimited')
      // Another key does not help, nor does the right word.
      expectNamed(await (await server.device({ subject })).enrol(), 'RateLimited')
      expect(server.double.asked.length - asked).toBe(4)
      // Others go on.
      expect((await (await server.device({ subject: `${subject}-2` })).enrol()).status).toBe(200)
      expect((await (await server.device({ subject, principal_id: 'phone-2' })).enrol()).status).toBe(200)
    }
  })

  it('a success clears them', async () => {
    await using server = await startAttestationServer({ limits: { ...wide, principal_free: 3 } })
    const device = await server.device()
    for (let round = 0; round < 3; round++) {
      for (let count = 0; count < 3; count++) expectNamed(await device.enrol(word('wrong')), 'SecondFactorFailed')
      expect((await device.enrol()).status).toBe(200)
    }
  })

  it('fifty concurrent guesses are counted one by one', async () => {
    await using server = await startAttestationServer({ limits: { ...wide, principal_free: 3 } })
    const device = await server.device(word('wrong'))
    const answers = await Promise.all(Array.from({ length: 50 }, () => device.enrol()))
    const names = answers.map(({ body }) => String(body['error_code']))
    expect(names.filter((name) => name === 'SecondFactorFailed')).toHaveLength(4)
    expect(names.filter((name) => name === 'RateLimited')).toHaveLength(46)
    expect(server.double.asked).toHaveLength(4)
    expect(await hits(server)).toEqual({ attestation_principal: 46 })
    await expect.poll(() => server.refusals()).toEqual(Array(4).fill('SecondFactorFailed'))
  })

  it('at one subject under many ids are counted together', async () => {
    await using server = await startAttestationServer({ limits: { ...wide, subject_per_minute: 5 } })
    atMinute(server)
    for (let count = 0; count < 5; count++)
      expectNamed(
        await (await server.device({ principal_id: `p-${String(count)}`, ...word('wrong') })).enrol(),
        'SecondFactorFailed',
      )
    const device = await server.device({ principal_id: 'p-6' })
    expectNamed(await device.enrol(), 'RateLimited')
    expect((await (await server.device({ subject: 'bob' })).enrol()).status).toBe(200)
    server.host.later(60_000)
    expect((await device.enrol()).status).toBe(200)
  })
})

describe('row 26: renewals that someone else requests', () => {
  it('one key from one address has a limit per minute, without affecting other keys and started ceremonies', async () => {
    await using server = await startAttestationServer({ limits: { ...wide, key_per_minute: 4 } })
    const [device, other] = [await server.device(), await server.device({ subject: 'bob' })]
    const [attestation, others] = [await device.attest(), await other.attest()]
    atMinute(server)
    const answers = await Promise.all(Array.from({ length: 12 }, () => device.reissue(attestation)))
    const good = answers.filter(({ status }) => status === 200)
    expect(good).toHaveLength(4)
    for (const answer of answers) {
      if (answer.status === 200) continue
      expectNamed(answer, 'RateLimited')
      expect(Number(answer.headers.get('retry-after'))).toBeLessThanOrEqual(65)
    }
    await other.renew(others)
    for (const { body } of good) expect((await device.complete(body['challenge'])).status).toBe(200)
    server.host.later(60_000)
    await device.renew(attestation)
  })

  it('what a process counts by itself is part of the limit', async () => {
    await using server = await startAttestationServer({ limits: { ...wide, key_per_minute: 30 } })
    const device = await server.device()
    const attestation = await device.attest()
    atMinute(server)
    const answers = await Promise.all(Array.from({ length: 50 }, () => device.reissue(attestation)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(30)
    server.host.later(60_000)
    await device.renew(attestation)
  })

  it('a copied request from another address does not use up the limit', async () => {
    await using server = await startAttestationServer({
      limits: { ...wide, key_per_minute: 2 },
      configure: (written) => ({ ...written, trusted_proxies: ['127.0.0.0/8'] }),
    })
    const device = await server.device()
    const attestation = await device.attest()
    atMinute(server)
    const from = (address: string) =>
      postJson(`${server.issuer}/reissue`, { attestation, public_jwk: device.jwk }, { 'x-forwarded-for': address })
    for (let count = 0; count < 2; count++) expect((await from('198.51.100.1')).status).toBe(200)
    expectNamed(await from('198.51.100.1'), 'RateLimited')
    expect((await from('203.0.113.9')).status).toBe(200)
    for (const address of ['2001:db8::1', '2001:db8::2']) expect((await from(address)).status).toBe(200)
    expectNamed(await from('2001:db8:0:0:ffff::3'), 'RateLimited')
  })
})

describe('one address', () => {
  it('has a limit per minute for /enrol, /reissue and /challenge together', async () => {
    await using server = await startAttestationServer({ limits: { ...wide, address_per_minute: 6 } })
    const device = await server.device()
    const attestation = await device.attest()
    atMinute(server)
    for (let count = 0; count < 2; count++) {
      expect((await device.enrol()).status).toBe(200)
      expect((await device.reissue(attestation)).status).toBe(200)
      expect((await postJson(`${server.issuer}/challenge`, {})).status).toBe(200)
    }
    const answers = [
      await device.enrol(),
      await device.reissue(attestation),
      await postJson(`${server.issuer}/challenge`, {}),
    ]
    for (const answer of answers) expectNamed(answer, 'RateLimited')
    server.host.later(60_000)
    await device.renew(attestation)
  })

  it('AT13 floods /challenge: it is answered 429, nothing is stored, and others get their value', async () => {
    await using server = await startAttestationServer({
      limits: { ...wide, address_per_minute: 20 },
      configure: (written) => ({ ...written, trusted_proxies: ['127.0.0.1/32'] }),
    })
    const ask = (address: string) => postJson(`${server.issuer}/challenge`, {}, { 'x-forwarded-for': address })
    atMinute(server)
    const stored = async () => {
      const text = await (await fetch(`${server.host.server.admin}/metrics`)).text()
      // Counters of the limits themselves, and what happens by the clock.
      const others = /collection="(counters|shares|logout_deliveries)"/
      return text.split('\n').filter((line) => line.startsWith('signet_store_operations_total{') && !others.test(line))
    }
    await ask('203.0.113.77')
    const before = await stored()
    expect(before).not.toEqual([])
    const answers = await Promise.all(Array.from({ length: 60 }, () => ask('192.0.2.7')))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
    for (const answer of answers.filter(({ status }) => status !== 200)) expectNamed(answer, 'RateLimited')
    const values = answers.map(({ body }) => body['attestation_challenge']).filter((value) => value !== undefined)
    expect(new Set(values).size).toBe(20)
    expect(await stored()).toEqual(before)
    expect((await ask('203.0.113.77')).status).toBe(200)
  })

  it('row 47: waiting clients get different Retry-After times', async () => {
    await using server = await startAttestationServer({ limits: { ...wide, address_per_minute: 1 } })
    atMinute(server)
    await postJson(`${server.issuer}/challenge`, {})
    const answers = await Promise.all(Array.from({ length: 40 }, () => postJson(`${server.issuer}/challenge`, {})))
    const waits = answers.map(({ headers }) => headers.get('retry-after'))
    expect(new Set(waits).size).toBeGreaterThan(2)
  })
})

describe('cost before anything is proved', () => {
  const garbage = { attestation: 'a.b.c', public_jwk: {}, challenge: 'x', challenge_signature: 'x.y.z' }

  it.each(['/enrol', '/enrol/complete', '/reissue', '/challenge'])(
    'garbage at %s counts, and requests over the limit appear only in the metrics',
    async (path) => {
      await using server = await startAttestationServer({ limits: { ...wide, address_per_minute: 10 } })
      atMinute(server)
      const send = () => postJson(`${server.issuer}${path}`, path === '/challenge' ? '[]' : garbage)
      for (let count = 0; count < 10; count++) expect((await send()).status).not.toBe(429)
      for (let count = 0; count < 10; count++) expectNamed(await send(), 'RateLimited')
      await expect.poll(() => server.refusals()).toHaveLength(10)
      expect(await server.refusals()).not.toContain('RateLimited')
      const limit = path === '/enrol/complete' ? 'attestation_completion_address' : 'attestation_address'
      expect(await hits(server)).toEqual({ [limit]: 10 })
    },
  )

  it('an address may complete as often as it begins, and completions do not count as beginnings', async () => {
    await using server = await startAttestationServer({ limits: { ...wide, address_per_minute: 6 } })
    atMinute(server)
    const device = await server.device()
    const last = await device.attest()
    await device.attest()
    for (let count = 0; count < 4; count++) await device.renew(last)
    expectNamed(await device.enrol(), 'RateLimited')
    expectNamed(await device.complete('x', 'x.y.z'), 'RateLimited')
  })
})

describe('signatures for one key', () => {
  it('are limited per minute across all addresses, however many requests contain its challenge', async () => {
    await using server = await startAttestationServer({
      limits: { ...wide, key_per_minute: 4 },
      configure: (written) => ({ ...written, trusted_proxies: ['127.0.0.0/8'] }),
    })
    const [device, other] = [await server.device(), await server.device({ subject: 'bob' })]
    const signatures = async () =>
      (await server.host.server.audit()).filter(({ event }) => event === 'attestation.signed').length
    const limited = async () => (await hits(server))['attestation_completion_key'] ?? 0
    // On a busy machine the first may have used its challenge up before the fifth comes: then once more, a minute later.
    for (let round = 0; round < 10 && (await limited()) === 0; round++) {
      atMinute(server)
      const before = await signatures()
      const challenge = await device.challenge()
      const body = { challenge, challenge_signature: await device.sign({ challenge }) }
      const answers = await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          postJson(`${server.issuer}/enrol/complete`, body, { 'x-forwarded-for': `192.0.2.${String(n)}` }),
        ),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      expect((await signatures()) - before).toBeLessThanOrEqual(4)
    }
    expect(await limited()).toBeGreaterThan(0)
    await other.attest()
    server.host.later(60_000)
    await device.attest()
  })
})

describe('values of /challenge', () => {
  it('are accepted once across all processes, before they expire, unchanged', async () => {
    await using server = await startAttestationServer()
    const { secrets, usedEvidenceChallenges: redeemed, returnedEvidence: returned } = collectionsOf(server.host.store)
    const another = () =>
      createEvidenceChallenges({
        secrets,
        redeemed,
        returned,
        clock: server.host.now,
        ttlSeconds: 300,
        toleranceSeconds: 10,
      })
    const [one, other] = [another(), another()]
    const ask = async () => String((await postJson(`${server.issuer}/challenge`, {})).body['attestation_challenge'])

    const value = await ask()
    const redeemedBy = await Promise.all(Array.from({ length: 50 }, (_, n) => (n % 2 ? one : other).redeem(value)))
    expect(redeemedBy.filter(Boolean)).toHaveLength(1)

    const next = await ask()
    const changed = [
      next.slice(1),
      `${next}A`,
      `${next.slice(0, -1)}${next.endsWith('A') ? 'B' : 'A'}`,
      next.toUpperCase(),
    ]
    for (const wrong of ['', 'x', 'A'.repeat(72), ...changed]) expect(await one.redeem(wrong)).toBe(false)
    for (let index = 0; index < next.length; index += 7) {
      const letter = next.charAt(index) === 'A' ? 'B' : 'A'
      expect(await one.redeem(next.slice(0, index) + letter + next.slice(index + 1))).toBe(false)
    }
    expect(await other.redeem(next)).toBe(true)

    const old = await ask()
    server.host.later(300_000)
    expect(await one.redeem(old)).toBe(false)
    const values = await Promise.all(Array.from({ length: 20 }, ask))
    expect(new Set(values).size).toBe(20)
  })
})
