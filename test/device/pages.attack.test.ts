import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { formatUserCode } from '../../core/oauth/grants/device-code.js'
import { tvClient } from '../support/clients/device.js'
import { person } from '../support/server/server.js'
import { startDeviceServer, type DeviceServer } from '../support/server/device-server.js'
import { expectRefusal } from '../support/server/token-server.js'

const people = Array.from({ length: 6 }, (_, n) => ({ username: `guesser-${n}`, password: `a long password ${n}` }))

const guessesOf = (right: string, count: number): string[] =>
  Array.from({ length: count }, (_, n) => `BBBBBB${'CDFGHJKLMN'[n % 10] ?? ''}${'PQRSTVWXZ'[n % 9] ?? ''}`).filter(
    (guess) => guess !== right.replace('-', ''),
  )

const csrfOf = (html: string): string => /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? ''

describe('the device flow under attack: the pages', () => {
  let host: DeviceServer
  beforeAll(async () => {
    host = await startDeviceServer((written) => ({
      ...written,
      accounts: [...(written['accounts'] as object[]), ...people.map((who) => ({ ...who, sub: who.username }))],
    }))
  })
  afterAll(() => host[Symbol.asyncDispose]())
  afterEach(() => host.rest())

  const post = (agent: { fetch(url: string, init: RequestInit): Promise<Response> }, body: string, headers = {}) =>
    agent.fetch(`${host.server.issuer}/device/verify`, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    })

  it('DV06 guesses are slowed down: for a person in all sessions, and for an address', async () => {
    const device = await host.start()
    const [first = person] = people
    const guesser = host.newPerson()
    const page = await guesser.open(first)
    const statuses: number[] = []
    for (const guess of guessesOf(device.userCode, 24)) statuses.push((await guesser.enter(page, guess)).status)
    expect(statuses.slice(0, 20)).toEqual(Array(20).fill(400))
    expect(statuses.at(-1)).toBe(429)
    const response = await post(
      guesser.agent,
      new URLSearchParams({ csrf: csrfOf(page.html), user_code: device.userCode }).toString(),
    )
    expect(response.status).toBe(429)
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    const html = await response.text()
    expect(html).toMatch(/Too many attempts\. Try again in/)
    expect(html).not.toContain(tvClient.client_name)
    // Another session of the same person.
    const again = host.newPerson()
    expect((await again.enter(await again.open(first), device.userCode)).status).toBe(429)
    // Somebody else may.
    expect((await host.newPerson().answer(person, device.userCode)).status).toBe(200)
    expect(await host.poll(device.deviceCode)).toMatchObject({ status: 200 })
  })

  it('DV06 an allowed code is not counted as a guess, and earlier guesses still are', async () => {
    const [, who = person] = people
    const guesser = host.newPerson()
    const page = await guesser.open(who)
    const [one, ...guesses] = guessesOf('BBBBBBBB', 22)
    for (const guess of guesses.slice(0, 20)) expect((await guesser.enter(page, guess)).status).toBe(400)
    const own = await host.start()
    const shown = await guesser.enter(page, own.userCode)
    expect(shown.status).toBe(200)
    host.later(2000)
    expect((await guesser.decide(shown, 'approve')).status).toBe(200)
    expect((await guesser.enter(page, one ?? '')).status).toBe(400)
    expect((await guesser.enter(page, guesses.at(-1) ?? '')).status).toBe(429)
  })

  it('DV07 an address is counted, regardless of headers and accounts', async () => {
    const device = await host.start()
    for (const who of people.slice(0, 5)) {
      const guesser = host.newPerson()
      const page = await guesser.open(who)
      await Promise.all(guessesOf(device.userCode, 20).map((guess) => guesser.enter(page, guess)))
    }
    const last = host.newPerson()
    const page = await last.open(people[5] ?? person)
    const statuses: number[] = []
    for (const [n, guess] of guessesOf(device.userCode, 12).entries()) {
      const address = `198.51.100.${n}`
      const body = new URLSearchParams({ csrf: csrfOf(page.html), user_code: guess })
      const spoofed = {
        'x-forwarded-for': address,
        'x-real-ip': address,
        forwarded: `for=${address}`,
        'true-client-ip': address,
        'cf-connecting-ip': address,
        'user-agent': `agent ${n}`,
      }
      statuses.push((await post(last.agent, body.toString(), spoofed)).status)
    }
    // The person alone would have had 20 for nothing.
    expect(statuses).toContain(429)
    host.rest()
    await host.expectGoodDevice()
  })

  it('DV08 an approval needs the token of the page that showed the code', async () => {
    const [device, mine] = [await host.start(), await host.start()]
    const victim = host.newPerson()
    const entry = await victim.open(person)
    const shownMine = await victim.enter(entry, mine.userCode)
    const stranger = host.newPerson()
    const shownToStranger = await stranger.enter(await stranger.open(people[0] ?? person), device.userCode)
    const tokens = [
      undefined,
      '',
      'x',
      'A'.repeat(43),
      csrfOf(entry.html),
      csrfOf(shownMine.html),
      csrfOf(shownToStranger.html),
    ]
    for (const csrf of tokens)
      for (const decision of ['approve', 'deny']) {
        const sent = { user_code: device.userCode, decision, ...(csrf !== undefined && { csrf }) }
        const response = await post(victim.agent, new URLSearchParams(sent).toString())
        expect(response.status).toBe(403)
        expect(await response.text()).not.toContain('Device connected')
      }
    // Neither code nor session.
    const noCode = { csrf: csrfOf(entry.html), decision: 'approve' }
    expect((await post(victim.agent, new URLSearchParams(noCode).toString())).status).toBe(403)
    const noSession = { user_code: device.userCode, decision: 'approve', csrf: csrfOf(shownToStranger.html) }
    expect((await post(host.newPerson().agent, new URLSearchParams(noSession).toString())).status).toBe(403)
    const neither = await post(
      victim.agent,
      new URLSearchParams({
        user_code: device.userCode,
        decision: 'perhaps',
        csrf: csrfOf((await victim.enter(entry, device.userCode)).html),
      }).toString(),
    )
    expect(neither.status).toBe(400)
    await host.expectPending(device)
    await host.expectPending(mine)
    await host.expectGoodDevice()
  })

  it('DV09 the link with the code shows the code and decides nothing', async () => {
    const device = await host.start()
    const victim = host.newPerson()
    const complete = `${host.server.issuer}/device?user_code=${device.userCode}`
    // By way of the sign-in, and signed in already.
    for (let visits = 0; visits < 2; visits++) {
      const page = await victim.open(person, complete)
      expect(page.html).toContain(`value="${device.userCode}"`)
      expect(page.html).not.toContain('device-approve')
      host.later(60_000)
      await host.expectPending(device)
    }
    const page = await victim.open(person, `${complete}&decision=approve`)
    expect(page.html).not.toContain('device-approve')
    const confirmation = await victim.enter(page, device.userCode)
    expect(confirmation.html).toContain(tvClient.client_name)
    expect(confirmation.html).toMatch(/id="device-place"><code>127\.0\.0\.1<\/code>/)
    for (const wish of ['Know who you are', 'See your profile', 'Keep this access while you are away', 'read'])
      expect(confirmation.html).toContain(wish)
    host.later(60_000)
    await host.expectPending(device)
    expect(await victim.decide(confirmation, 'approve')).toMatchObject({ status: 200 })
    host.later(60_000)
    expect(await host.poll(device.deviceCode)).toMatchObject({ status: 200 })
  })

  it('DV09 the link does not redirect elsewhere', async () => {
    for (const userCode of [
      '//evil.example',
      'https://evil.example/BCDFGHJK',
      '../../BCDFGHJK',
      '%0d%0aLocation:https://evil.example',
      '"><script>alert(1)</script>',
    ]) {
      const visitor = host.newPerson()
      const at = `${host.server.issuer}/device?user_code=${encodeURIComponent(userCode)}`
      const page = await visitor.open(person, at)
      expect(page.status).toBe(200)
      expect(page.url.href.startsWith(`${host.server.issuer}/device`)).toBe(true)
      expect(page.url.href + page.html).not.toMatch(/evil|alert/i)
    }
    await host.expectGoodDevice()
  })

  it('DV10 a code is read in any spelling', async () => {
    const spell: readonly ((code: string) => string)[] = [
      (code) => code.toLowerCase(),
      (code) => code.replace('-', ''),
      (code) => ` ${code.replace('-', ' – ')} `,
      (code) => [...code.replace('-', '')].join(' '),
      (code) => `${code.replace('-', '_').toLowerCase()}.`,
      (code) => `\t${code}\u00a0`,
      (code) => `0${code.replace('-', 'A-E-I-O-U-Y-1')}!`,
    ]
    for (const spelling of spell) {
      const { userCode } = await host.start()
      const somebody = host.newPerson()
      const confirmation = await somebody.enter(await somebody.open(person), spelling(userCode))
      expect(confirmation.html).toContain(`<code id="device-code">${userCode}</code>`)
    }
  })

  it('DV10 anything but a code is refused, whatever its form', async () => {
    const device = await host.start()
    const victim = host.newPerson()
    const csrf = encodeURIComponent(csrfOf((await victim.open(person)).html))
    const code = device.userCode
    for (const body of [
      `csrf=${csrf}`,
      `csrf=${csrf}&user_code=`,
      `csrf=${csrf}&user_code[]=${code}`,
      `csrf=${csrf}&user_code[$ne]=x`,
      `csrf=${csrf}&user_code[0][a]=${code}`,
      `csrf=${csrf}&user_code=.*`,
      `csrf=${csrf}&user_code=%5B%22${code}%22%2C%22BBBBBBBB%22%5D`,
      `csrf=${csrf}&user_code=${code}&user_code=${code}`,
      `csrf=${csrf}&user_code=${code}B`,
      `csrf=${csrf}&user_code=${'B'.repeat(10_000)}`,
      `csrf=${csrf}&user_code=%00${code}`,
      `csrf=${csrf}&user_code=%ff`,
    ]) {
      const response = await post(victim.agent, body)
      expect({ body, status: response.status }).toEqual({ body, status: 400 })
    }
    const json = await post(victim.agent, `{"user_code":["${code}"]}`, { 'content-type': 'application/json' })
    expect(json.status).toBe(415)
    const twice = await victim.agent.fetch(`${host.server.issuer}/device?user_code=${code}&user_code=${code}`)
    expect(twice.status).toBe(400)
    await host.expectPending(device)
    host.rest()
    await host.expectGoodDevice()
  })

  it('DV11 of a concurrent approval and denial one stands, on every page and for the device', async () => {
    for (let rounds = 0; rounds < 5; rounds++) {
      host.rest()
      const device = await host.start()
      const [one, other] = [host.newPerson(), host.newPerson()]
      const pages = [await one.enter(await one.open(person), device.userCode)] as const
      const others = await other.enter(await other.open(people[1] ?? person), device.userCode)
      const results = await Promise.all([
        one.decide(pages[0], 'approve'),
        other.decide(others, 'deny'),
        one.decide(pages[0], 'deny'),
        other.decide(others, 'approve'),
      ])
      const stands = results.filter(({ status }) => status === 200)
      expect(stands).toHaveLength(1)
      const approved = stands[0]?.html.includes('Device connected') === true
      const lost = approved ? 'This code has already been used' : 'This request was already denied'
      for (const { status, html } of results) if (status !== 200) expect(html).toContain(lost)
      const answer = await host.poll(device.deviceCode)
      if (!approved) {
        expectRefusal(answer, 400, 'access_denied')
        continue
      }
      expect(answer.status).toBe(200)
      // A page that was opened before takes nothing back.
      expect(await other.decide(others, 'deny')).toMatchObject({ status: 400, html: expect.stringContaining(lost) })
      expect(await host.userinfo(String(answer.body['access_token']))).toMatchObject({ status: 200 })
    }
  })

  it('DV11 an expired code stays expired; each finished code gets a page that explains what to do', async () => {
    const [device, used, denied] = [await host.start(), await host.start(), await host.start()]
    const somebody = host.newPerson()
    const entry = await somebody.open(person)
    const confirmation = await somebody.enter(entry, device.userCode)
    await somebody.decide(await somebody.enter(entry, used.userCode), 'approve')
    await somebody.decide(await somebody.enter(entry, denied.userCode), 'deny')
    host.later(600_000)
    for (const decision of ['approve', 'deny'] as const)
      expect(await somebody.decide(confirmation, decision)).toMatchObject({
        status: 400,
        html: expect.stringContaining('This code has expired'),
      })
    const pageFor = async (userCode: string) => (await somebody.enter(entry, userCode)).html
    expect(await pageFor(device.userCode)).toMatch(/This code has expired[\s\S]*get a new code from it[\s\S]*\/device"/)
    expect(await pageFor(denied.userCode)).toMatch(/This request was already denied[\s\S]*new code/)
    expect(await pageFor(formatUserCode('BCDFBCDF'))).toMatch(/We don’t recognise this code[\s\S]*id="user-code"/)
    expectRefusal(await host.poll(device.deviceCode), 400, 'expired_token')
    host.rest()
    const fresh = await host.start()
    await host.newPerson().answer(person, fresh.userCode)
    const page = await somebody.enter(await somebody.open(person), fresh.userCode)
    expect(page.html).toContain('This code has already been used')
    expect(await host.poll(fresh.deviceCode)).toMatchObject({ status: 200 })
    expect((await somebody.enter(entry, fresh.userCode)).html).toContain('This code has already been used')
    await host.expectGoodDevice()
  })
})
