import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { alice, startProvider, type Provider } from '../support/server/authorize-provider.js'
import { ceremonyDouble, codeDouble, redirectDouble } from '../support/server/method-doubles.js'
import { passwordDouble } from '../support/server/password-double.js'

const code = codeDouble({ id: 'code', amr: ['otp'], after: ['password'] })
const key = ceremonyDouble({ id: 'key', amr: ['hwk'] })
const far = redirectDouble({ id: 'far', amr: ['sms'] })
const later = codeDouble({ id: 'later', amr: ['kba'], after: ['key'] })

let provider: Provider
beforeAll(async () => {
  const password = passwordDouble(async ({ username, password: typed }) =>
    typed === alice.password ? { outcome: 'passed', subject: `sub-${username}`, amr: ['pwd'] } : { outcome: 'refused' },
  )
  const doubles = [code, key, far, later].map((double) => [double.id, double] as const)
  provider = await startProvider({ methods: new Map([...password, ...doubles]) })
})
afterAll(() => provider.close())
beforeEach(() => {
  for (const double of [code, key]) {
    double.isMissing = false
    double.broken = undefined
    double.begun.length = 0
  }
})

const hidden = (html: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]+)"`).exec(html)?.[1] ?? ''
const isSignedIn = (agent: UserAgent): boolean => agent.cookies.has('signet-session')

const passFirst = async (agent = new UserAgent()) => {
  const first = await agent.follow(provider.url({ prompt: 'login' }))
  const sent = { ...alice, method: 'password' }
  const { response, url } = await agent.submit(first.url, await first.response.text(), sent)
  const html = await response.text()
  return { agent, url, html, attempt: hidden(html, 'attempt') }
}
type Passed = Awaited<ReturnType<typeof passFirst>>

const askInstead = async ({ agent, url, html, attempt }: Passed, method: string, sent = attempt) => {
  const { response, url: at } = await agent.submit(url, html, { instead_of: 'code', method, attempt: sent })
  return { status: response.status, url: at, html: await response.text() }
}

it('names the person, and offers only a passkey that could have been used first', async () => {
  const { html } = await passFirst()
  expect(html).toContain(`<bdi id="consent-account">${alice.username}</bdi>`)
  expect(html).toContain('Not you?')
  expect([...html.matchAll(/id="instead-(\w+)"/g)].map(([, id]) => id)).toEqual(['key'])
})

it('asks for the other factor of the same person, and both attempts stay valid until one is answered', async () => {
  const first = await passFirst()
  const other = await askInstead(first, 'key')
  expect(other.html).toContain('data-ceremony="key"')
  expect(key.begun.at(-1)).toMatchObject({ passed: { subject: `sub-${alice.username}`, amr: ['pwd'] } })
  expect(isSignedIn(first.agent)).toBe(false)
  await first.agent.submit(first.url, first.html, { method: 'code', attempt: first.attempt, code: '123456' })
  expect(isSignedIn(first.agent)).toBe(true)
})

it('reports that the person does not have the other factor, and keeps asking for the first', async () => {
  key.isMissing = true
  const first = await passFirst()
  const { status, html } = await askInstead(first, 'key')
  expect(status).toBe(200)
  expect(html).toContain('You haven’t set up key.')
  expect(hidden(html, 'attempt')).toBe(first.attempt)
})

it('reports that the other factor is not possible when it fails', async () => {
  const first = await passFirst()
  key.broken = 'bug'
  const { status, html } = await askInstead(first, 'key')
  expect([status, html.includes('is currently unavailable')]).toEqual([503, true])
  expect(isSignedIn(first.agent)).toBe(false)
})

it.each([
  ['a method that may not come here', 'far', undefined],
  ['a method that comes after another one', 'later', undefined],
  ['the method before', 'password', undefined],
  ['an attempt that there is not', 'key', 'A'.repeat(43)],
])('does not ask for %s', async (_name, method, attempt) => {
  const first = await passFirst()
  const { status, html } = await askInstead(first, method, attempt)
  expect(status).toBe(403)
  expect(html).toContain('This sign-in step has expired or was already used.')
  expect(isSignedIn(first.agent)).toBe(false)
})

it('ignores the attempt of another browser', async () => {
  const victim = await passFirst()
  const thief = await passFirst()
  const { status } = await askInstead(thief, 'key', victim.attempt)
  expect(status).toBe(403)
})
