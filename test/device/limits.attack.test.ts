import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { boxClient, otherTvClient } from '../support/clients/device.js'
import { person } from '../support/server/server.js'
import type { UserAgent } from '../support/clients/user-agent.js'
import { startDeviceServer, type DeviceServer } from '../support/server/device-server.js'
import { expectRefusal } from '../support/server/token-server.js'

const people = Array.from({ length: 17 }, (_, n) => ({ username: `guesser-${n}`, password: `a long password ${n}` }))

const csrfOf = (html: string): string => /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? ''

describe('the device flow under attack: distributed attempts', () => {
  let host: DeviceServer
  beforeAll(async () => {
    host = await startDeviceServer((written) => ({
      ...written,
      trusted_proxies: ['127.0.0.0/8'],
      accounts: [...(written['accounts'] as object[]), ...people.map((who) => ({ ...who, sub: who.username }))],
    }))
  })
  afterAll(() => host[Symbol.asyncDispose]())

  /** What is counted by the minute gets a whole one. */
  const nextMinute = (): void => host.later(60_000 - (host.now() % 60_000))

  it('DV06 guesses from many accounts and addresses are slowed down together', async () => {
    const device = await host.start()
    const from = (n: number) => ({ 'x-forwarded-for': `203.0.113.${n}` })
    const verify = (agent: UserAgent, html: string, code: string, n: number) =>
      agent.fetch(`${host.server.issuer}/device/verify`, {
        method: 'POST',
        body: new URLSearchParams({ csrf: csrfOf(html), user_code: code }),
        headers: from(n),
      })
    const signedIn: [UserAgent, string][] = []
    for (const who of people) {
      const guesser = host.newPerson()
      signedIn.push([guesser.agent, (await guesser.open(who)).html])
    }
    nextMinute()
    const guesses = Array.from(
      { length: 18 },
      (_, n) => `BBBBBB${'CDFGHJKLMN'[n % 10] ?? ''}${'PQ'[Math.floor(n / 10)] ?? ''}`,
    )
    const answers = await Promise.all(
      signedIn.flatMap(([agent, html], n) => guesses.map(async (code) => (await verify(agent, html, code, n)).status)),
    )
    expect(new Set(answers)).toEqual(new Set([400, 429]))
    expect(answers.filter((status) => status === 400).length).toBeLessThanOrEqual(300)
    const honest = host.newPerson()
    const { html } = await honest.open(person)
    const refused = await verify(honest.agent, html, device.userCode, 200)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(60)
    host.later(60_000)
    await host.expectGoodDevice()
  })

  it('device codes for a public client are limited per address and minute', async () => {
    nextMinute()
    const answers = await Promise.all(Array.from({ length: 70 }, () => host.ask()))
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(60)
    const refused = await host.ask()
    expectRefusal(refused, 429, 'slow_down')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expectRefusal(await host.ask({ scope: 'openid' }, otherTvClient), 429, 'slow_down')
    // Who has a secret is known.
    await host.expectGoodDevice(boxClient)
    host.later(60_000)
    await host.expectGoodDevice()
  })
})
