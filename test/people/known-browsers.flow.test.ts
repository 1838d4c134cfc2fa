import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  person,
  prepareDeployment,
  publicClient,
  redirectUri,
  startServer,
  type TestServer,
} from '../support/server/server.js'
import { UserAgent } from '../support/clients/user-agent.js'

const name = 'signet-known-browser'
const people = ['bob', 'carol', 'dave', 'erin', 'frank', 'grace'].map((username) => ({
  username,
  password: `the long password of ${username}`,
}))
const [bob = person] = people

const behindProxy = (written: Record<string, unknown>) => ({
  ...written,
  trusted_proxies: ['127.0.0.1/32'],
  accounts: [...(written['accounts'] as object[]), ...people.map((one) => ({ ...one, sub: `sub-${one.username}` }))],
})

let server: TestServer
let now = Date.now()
beforeAll(async () => {
  server = await startServer({
    clock: () => now,
    configure: (written) => ({
      ...written,
      trusted_proxies: ['127.0.0.1/32'],
      accounts: [
        ...(written['accounts'] as object[]),
        ...people.map((one) => ({ ...one, sub: `sub-${one.username}` })),
      ],
    }),
  })
})
afterAll(() => server[Symbol.asyncDispose]())
// All guesses of an earlier test are forgotten.
beforeEach(() => void (now += 2 * 86_400_000))

let addresses = 0
/** An address that was not there before. */
const elsewhere = (): string => `198.51.${String(addresses >> 8)}.${String(addresses++ & 255)}`

/** One password typed into the login page. 303: signed in; 403: wrong; 429: locked. */
const signIn = async (agent: UserAgent, who = person, address = elsewhere(), at = server): Promise<Response> => {
  const url = new URL('/authorize', at.issuer)
  url.search = new URLSearchParams({
    client_id: publicClient.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid',
    prompt: 'login',
    code_challenge: randomBytes(32).toString('base64url'),
    code_challenge_method: 'S256',
  }).toString()
  const shown = await agent.follow(url)
  const csrf = /name="csrf"[^>]*value="([^"]+)"/.exec(await shown.response.text())?.[1] ?? ''
  const body = new URLSearchParams({ csrf, ...who })
  return agent.fetch(shown.url, { method: 'POST', body, headers: { 'x-forwarded-for': address } })
}

const wrong = { ...person, password: 'a wrong password' }

const guess = async (agent: () => UserAgent, times: number, username = person.username): Promise<number[]> => {
  const statuses: number[] = []
  for (let time = 0; time < times; time++) statuses.push((await signIn(agent(), { ...wrong, username })).status)
  return statuses
}

/** A browser in which these people have signed in, one after another. */
const browserOf = async (...whom: readonly { username: string; password: string }[]): Promise<UserAgent> => {
  const agent = new UserAgent()
  for (const who of whom) expect((await signIn(agent, who)).status).toBe(303)
  return agent
}

const cookieOf = (agent: UserAgent): string => agent.cookies.get(name)?.value ?? ''

const withCookie = (value: string): UserAgent => {
  const agent = new UserAgent()
  agent.setCookie(name, value)
  return agent
}

const sixWrong = [403, 403, 403, 403, 403, 403]
const stranger = (): UserAgent => new UserAgent()

describe('a browser in which a person has signed in before', () => {
  it('LG01 is not locked out by strangers who guess from changing addresses, whatever the spelling of the name', async () => {
    const own = await browserOf(person)
    expect(await guess(stranger, 10)).toEqual([...sixWrong, 429, 429, 429, 429])
    expect((await signIn(stranger())).status).toBe(429)
    for (const username of [' ALICE ', 'ａｌｉｃｅ', 'alice'])
      expect((await signIn(own, { ...person, username })).status).toBe(303)
  })

  it('LG02 gives a thief of its cookie as many guesses as anybody has, and those cost nobody else any', async () => {
    const own = await browserOf(person)
    const thief = (): UserAgent => withCookie(cookieOf(own))
    expect(await guess(thief, 8)).toEqual([...sixWrong, 429, 429])
    const locked = await signIn(thief())
    expect(locked.status).toBe(429)
    expect(locked.headers.get('retry-after')).toBe('1')
    const other = await browserOf(person)
    expect(cookieOf(other)).not.toBe(cookieOf(own))
    now += 1000
    expect(await guess(thief, 1)).toEqual([403])
    expect((await signIn(thief())).headers.get('retry-after')).toBe('2')
    now += 2000
    expect((await signIn(own)).status).toBe(303)
    expect(await guess(thief, 7)).toEqual([...sixWrong, 429])
  })

  it('LG03 is not what a forged cookie says, nor one of another username', async () => {
    const own = cookieOf(await browserOf(person))
    const others = cookieOf(await browserOf(bob))
    await guess(stranger, 6)
    const flip = (text: string, at: number): string =>
      `${text.slice(0, at)}${text[at] === 'A' ? 'B' : 'A'}${text.slice(at + 1)}`
    const forged = [
      flip(own, 0),
      flip(own, 21),
      flip(own, 22),
      flip(own, 40),
      `${others.slice(0, 22)}${own.slice(22)}`,
      `${own.slice(0, 22)}${others.slice(22)}`,
      others,
      own.slice(1),
      `${own}x`,
      own.toUpperCase(),
      '',
      '.',
      Array(6).fill(own).join('.'),
      `${own}; ${name}=${own}`,
      'A'.repeat(65),
      '__proto__',
    ]
    for (const value of forged) expect((await signIn(withCookie(value))).status, value).toBe(429)
    expect((await signIn(withCookie(`${others}.${own}`))).status).toBe(303)
  })

  it('LG04 has one cookie for five people at most; it names nobody, and the one who was not here for longest goes', async () => {
    const own = await browserOf(person, ...people.slice(0, 4))
    const five = cookieOf(own).split('.')
    expect(five).toHaveLength(5)
    const again = await signIn(own)
    const [line = ''] = again.headers.getSetCookie().filter((one) => one.startsWith(name))
    expect(line.split('; ').slice(1).sort()).toEqual(['HttpOnly', 'Max-Age=15552000', 'Path=/', 'SameSite=Lax'])
    expect(cookieOf(own).split('.')).toEqual([five[4], ...five.slice(0, 4)])
    for (const who of people.slice(4)) expect((await signIn(own, who)).status).toBe(303)
    const kept = cookieOf(own).split('.')
    expect(kept).toHaveLength(5)
    expect(kept).toContain(five[4])
    expect(kept).not.toContain(five[3])
    expect(cookieOf(own)).toMatch(/^[\w-]{65}(\.[\w-]{65}){4}$/)

    // The first of them is a stranger now.
    await guess(stranger, 6, bob.username)
    expect((await signIn(own, bob)).status).toBe(429)
    expect((await signIn(own)).status).toBe(303)
  })

  it('LG05 does not make the guesses of one address faster', async () => {
    const own = await browserOf(person)
    const address = elsewhere()
    const guesses: number[] = []
    for (let time = 0; time < 101; time++)
      guesses.push((await signIn(stranger(), { ...wrong, username: `nobody-${time}` }, address)).status)
    expect(new Set(guesses)).toEqual(new Set([403]))
    expect((await signIn(own, person, address)).status).toBe(429)
    expect((await signIn(own)).status).toBe(303)
  })

  it('LG06 is known to every process of the deployment, also after a restart', async () => {
    await using deployment = await prepareDeployment({ clock: () => now, configure: behindProxy })
    const own = new UserAgent()
    {
      await using before = await deployment.start()
      expect((await signIn(own, person, elsewhere(), before)).status).toBe(303)
    }
    await using after = await deployment.start()
    for (let time = 0; time < 6; time++) await signIn(stranger(), wrong, elsewhere(), after)
    expect((await signIn(stranger(), person, elsewhere(), after)).status).toBe(429)
    expect((await signIn(own, person, elsewhere(), after)).status).toBe(303)
  })
})
