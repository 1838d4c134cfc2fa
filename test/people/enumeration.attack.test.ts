import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { userHandleOf } from '../../core/interaction/factors/person-factors.js'
import { showPassword } from '../support/clients/second-factor.js'
import { SoftwareAuthenticator } from '../support/clients/software-authenticator.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { clientOf, withFactors } from '../support/server/passkey-server.js'
import { addPeople } from '../support/server/password-form.js'
import {
  addPasskey,
  openSignIn,
  optionsOf,
  sendPasskey,
  sendPassword,
  setUpApp,
  visitAs,
  type Answered,
} from '../support/server/second-factor-visits.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'
import { failingStore, inBothRoles, type Faults } from '../support/stores/failing-store.js'

const bob = { username: 'bobby', password: 'a password of Bob alone', sub: 'bob-1' }
const carol = { username: 'carol', password: 'a password of Carol alone', sub: 'carol-1', disabled: true }

/** Steps of the store by which people are looked up. */
const steps: string[] = []
const noting: Faults = Object.assign(new Map<never, never>(), {
  get: (step: string) => {
    if (/^(accounts|account_subjects|configured_accounts|external_accounts|person_factors)\./.test(step))
      steps.push(step)
    return undefined
  },
})

/** `alice` has a passkey and an app, `bobby` a password, `carol` is disabled, and nobody is called `erwin`. */
const names = [person.username, bob.username, carol.username, 'erwin']

describe('who has an account, and what they sign in with', () => {
  let server: TestServer
  const authenticator = { of: undefined as unknown as SoftwareAuthenticator }
  let now = Date.now()
  beforeAll(async () => {
    server = await startServer({
      configure: withFactors,
      clock: () => now,
      doubles: { stores: inBothRoles(failingStore(noting)) },
    })
    await addPeople(server.directory, bob, carol)
    authenticator.of = new SoftwareAuthenticator(server.issuer)
    const visitor = await visitAs(server.issuer, person)
    await addPasskey(visitor, authenticator.of)
    await setUpApp(visitor, (secret) => showPassword(secret, now))
  })
  afterAll(() => server[Symbol.asyncDispose]())

  /** Without what differs between any two pages. */
  const plain = (html: string, name = '') => {
    const same = html.replaceAll(/[\w-]{43}(?:\.[\w-]+)*/g, '…')
    return name === '' ? same : same.replaceAll(name, 'somebody')
  }
  const plainHeaders = (headers: Headers, name?: string) =>
    [...headers]
      .filter(([header]) => header !== 'date' && header !== 'x-request-id')
      .map((one) => plain(one.join(': '), name))
  /** What a stranger sees who has typed this. */
  const guess = async (username: string, password: string) => {
    const page = await openSignIn(server.issuer)
    steps.length = 0
    const body = new URLSearchParams({
      csrf: /name="csrf" value="([^"]+)"/.exec(page.html)?.[1] ?? '',
      username,
      password,
    })
    const response = await page.agent.fetch(page.url, { method: 'POST', body })
    const looked = steps.length
    return {
      status: response.status,
      headers: plainHeaders(response.headers, username),
      html: plain(await response.text(), username),
      looked,
    }
  }

  it('SI74 is not on the page of a wrong password, nor in its headers, nor in the steps of the store', async () => {
    const known = await guess(person.username, 'wrong')
    expect(known).toMatchObject({ status: 403, html: expect.stringContaining('Incorrect username or password.') })
    expect(known.looked).toBeGreaterThan(0)
    for (const name of names) expect(await guess(name, 'wrong')).toEqual(known)
    // A disabled account looks the same with the right password.
    expect(await guess(carol.username, carol.password)).toEqual(known)
    expect(known.html).not.toContain('name="code"')
  })

  it('SI74 is not in how guesses are delayed', async () => {
    const delays = async (name: string) => {
      const seen: unknown[] = []
      for (let time = 0; time < 7; time++) {
        const { status, headers } = await guess(name, 'wrong')
        seen.push([status, headers.filter((line) => line.startsWith('retry-after'))])
      }
      return seen
    }
    now += 2 * 86_400_000
    const known = await delays(bob.username)
    expect(known.at(-1)).toEqual([429, [expect.any(String)]])
    for (const name of [person.username, carol.username, 'erwin']) expect(await delays(name)).toEqual(known)
    now += 2 * 86_400_000
  })

  it('SI75 is not in the request to the browser before a password, whoever the client names', async () => {
    const asked = async (name: string) => {
      const { response } = await new UserAgent().follow(
        authorizeUrl(server.issuer, { redirect_uri: clientOf(server.issuer), login_hint: name }),
      )
      const html = await response.text()
      const { challenge, ...options } = optionsOf({ html } as never)
      expect(challenge).toEqual(expect.stringMatching(/^[\w-]{43}$/))
      return {
        status: response.status,
        headers: plainHeaders(response.headers, name),
        html: plain(html, name),
        options,
      }
    }
    const known = await asked(person.username)
    expect(known.options).toEqual({ rpId: 'localhost', userVerification: 'required', timeout: 300_000 })
    for (const name of names) expect(await asked(name)).toEqual(known)
  })

  it('SI76 is not in the answer to a passkey that signs nobody in', async () => {
    const seen = ({ status, headers, page }: Answered) => [status, plainHeaders(headers), plain(page.html)]
    const send = async (of: SoftwareAuthenticator, otherwise: Parameters<SoftwareAuthenticator['signIn']>[1]) => {
      const page = await openSignIn(server.issuer)
      return seen(await sendPasskey(page, of.signIn(optionsOf(page), otherwise)))
    }
    const stranger = new SoftwareAuthenticator(server.issuer)
    const nobody = await send(stranger, { userHandle: userHandleOf('nobody') })
    expect(nobody[0]).toBe(403)
    expect(await send(stranger, { userHandle: userHandleOf(subject) })).toEqual(nobody)
    expect(await send(stranger, { userHandle: userHandleOf(subject), id: authenticator.of.id })).toEqual(nobody)
    expect(await send(authenticator.of, { userHandle: userHandleOf(bob.sub) })).toEqual(nobody)
    expect(await send(authenticator.of, { origin: 'https://evil.example' })).toEqual(nobody)
  })

  it('is seen by the person alone, after the password', async () => {
    expect((await sendPassword(await openSignIn(server.issuer), person)).html).toContain('name="code"')
    expect((await sendPassword(await openSignIn(server.issuer), bob)).html).toContain('id="sessions"')
  })
})
