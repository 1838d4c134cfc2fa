import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SoftwareAuthenticator } from '../support/clients/software-authenticator.js'
import { fieldOf, OperatorBrowser, optionsOf } from '../support/server/operator-browser.js'
import { startOperatorServer, type AskApi, type OperatorServer } from '../support/server/operator-server.js'

let ahead = 0
const clock = { advance: (ms: number) => void (ahead += ms) }
let server: OperatorServer
let admin: AskApi
beforeAll(async () => {
  server = await startOperatorServer({ clock: () => Date.now() + ahead })
  admin = await server.as('operator')
})
afterAll(() => server[Symbol.asyncDispose]())

let count = 0
/** An operator with a passkey, whose browser is signed in with it. */
const openBrowser = async (...roles: readonly string[]) => {
  const name = `ada${String(count++)}`
  const added = await admin('/operators', { method: 'POST', body: { name, roles } })
  expect(added.status).toBe(201)
  const browser = new OperatorBrowser(server.admin)
  const authenticator = new SoftwareAuthenticator(browser.origin)
  expect(await browser.useLink(admin, name)).toMatchObject({ status: 303, location: '/console' })
  expect(await browser.addPasskey(authenticator)).toMatchObject({ status: 303 })
  expect(await browser.signIn(authenticator)).toMatchObject({ status: 303, location: '/console' })
  return { name, browser, authenticator }
}

const patch = async (name: string, body: unknown) => {
  const read = await admin(`/operators/${name}`)
  const reply = await admin(`/operators/${name}`, {
    ...{ method: 'PATCH', body, headers: { 'If-Match': read.headers.get('etag')! } },
  })
  expect(reply.status).toBe(200)
}

const atSignIn = { status: 303, location: '/console/sign-in' }

describe('an operator in a browser', () => {
  it('comes by a link once, adds a passkey, and signs in with it', async () => {
    const { name, browser } = await openBrowser('viewer')
    expect((await browser.open('/console')).status).toBe(200)
    const { html } = await browser.open('/console/credentials')
    expect(html).toContain(name)
    const events = await server.audit()
    expect(events).toContainEqual(
      expect.objectContaining({
        ...{ event: 'operator.signed_in', by: expect.objectContaining({ operator: name, proof: 'passkey' }) },
      }),
    )
    expect(events).toContainEqual(
      expect.objectContaining({ event: 'administration', action: 'operator.add_credential', operator: name }),
    )
  })

  it('gets a cookie that scripts and other sites cannot use', async () => {
    const { browser, authenticator } = await openBrowser('viewer')
    const { headers } = await browser.signIn(authenticator)
    const [cookie] = headers.getSetCookie().filter((set) => set.startsWith('signet-operator='))
    expect(cookie).toMatch(/^signet-operator=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/)
  })

  it('is sent to the sign-in page without a session, and a program gets 401', async () => {
    const browser = new OperatorBrowser(server.admin)
    expect(await browser.open('/console/clients')).toMatchObject(atSignIn)
    expect(await browser.post('/console/sign-out', {})).toMatchObject(atSignIn)
    expect((await server.ask('/clients')).status).toBe(401)
  })

  it('is refused a page whose permission they lack, and the refusal is recorded', async () => {
    const { name, browser } = await openBrowser('support')
    expect((await browser.open('/console/clients')).status).toBe(403)
    expect(await server.audit()).toContainEqual(
      expect.objectContaining({
        event: 'operator.refused',
        route: '/console/clients',
        by: expect.objectContaining({ operator: name, proof: 'passkey' }),
      }),
    )
  })

  it('reads the API with the session, and changes nothing there (AD30)', async () => {
    const { browser } = await openBrowser('operator')
    expect((await browser.open('/api/v1/clients', { 'Sec-Fetch-Site': 'same-origin' })).status).toBe(200)
    for (const site of ['cross-site', 'same-site'])
      expect((await browser.open('/api/v1/clients', { 'Sec-Fetch-Site': site })).status).toBe(401)
    const csrf = await browser.csrf()
    const sent = await browser.post('/api/v1/operators', { csrf, name: 'eve', roles: 'operator' })
    expect(sent.status).toBe(415)
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const json = await fetch(`${browser.origin}/api/v1/operators`, {
      method: 'POST',
      headers: {
        Cookie: cookie,
        Origin: browser.origin,
        'Sec-Fetch-Site': 'same-origin',
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({ name: 'eve', roles: ['operator'] }),
    })
    expect(json.status).toBe(401)
    expect((await admin('/operators/eve')).status).toBe(404)
  })
})

describe('a form of the console', () => {
  it('needs the token of its session, and comes from this site (AD31)', async () => {
    const one = await openBrowser('viewer')
    const other = await openBrowser('viewer')
    const { html } = await one.browser.open('/console/credentials')
    const fields = { id: /name="id" value="([^"]+)"/.exec(html)![1]! }
    const path = '/console/credentials/remove'
    const csrf = await one.browser.csrf()
    expect((await one.browser.post(path, fields)).status).toBe(403)
    expect((await one.browser.post(path, { ...fields, csrf: await other.browser.csrf() })).status).toBe(403)
    for (const from of ['https://evil.example', 'null'])
      expect(
        await one.browser.post(path, { ...fields, csrf }, { Origin: from, 'Sec-Fetch-Site': 'cross-site' }),
      ).toMatchObject(atSignIn)
    expect((await one.browser.open('/console/credentials')).html).toContain(fields.id)
    // The pages have the policy no-referrer, so this is what a browser sends with their forms.
    expect(await one.browser.post('/console/credentials/remove', {}, { Origin: 'null' })).toMatchObject({ status: 403 })
    expect(await one.browser.post(path, { ...fields, csrf })).toMatchObject({ status: 303 })
  })

  it('does nothing after the role it needs was taken away while it was open (AD32)', async () => {
    const { name, browser } = await openBrowser('viewer', 'support')
    const csrf = await browser.csrf()
    await patch(name, { roles: ['viewer'] })
    const { body } = await admin(`/operators/${name}`)
    const sent = await browser.post('/console/credentials/remove', { csrf, id: body.credentials[0].id })
    expect(sent).toMatchObject(atSignIn)
    expect((await admin(`/operators/${name}`)).body.credentials).toHaveLength(1)
    expect(await browser.open('/console')).toMatchObject(atSignIn)
  })
})

describe('the sign-in of operators', () => {
  it('refuses another Host, under which a website would reach the listener (AD33)', async () => {
    const { request } = await import('node:http')
    const { browser } = await openBrowser('viewer')
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const { port } = new URL(server.admin)
    const statusOf = (path: string, host: string) =>
      new Promise((resolve, reject) =>
        request(
          { host: '127.0.0.1', port, path, headers: { Host: host, Cookie: cookie, Accept: 'text/html' } },
          (reply) => {
            reply.resume()
            resolve(reply.statusCode)
          },
        )
          .once('error', reject)
          .end(),
      )
    expect(await statusOf('/console', `localhost:${port}`)).toBe(200)
    expect(await statusOf('/console', `evil.example:${port}`)).toBe(303)
    expect(await statusOf('/console/sign-in', `evil.example:${port}`)).toBe(403)
    expect(await statusOf('/api/v1/clients', `evil.example:${port}`)).toBe(401)
  })

  it('never continues a session that the browser brings (AD34)', async () => {
    const { browser, authenticator } = await openBrowser('viewer')
    const planted = 'A'.repeat(43)
    browser.cookies.set('signet-operator', planted)
    expect(await browser.open('/console')).toMatchObject(atSignIn)
    await browser.signIn(authenticator)
    const first = browser.cookies.get('signet-operator')
    await browser.signIn(authenticator)
    const second = browser.cookies.get('signet-operator')
    expect(new Set([planted, first, second]).size).toBe(3)
  })

  it('takes a challenge, an answer and a link once, and from its own site alone (AD35)', async () => {
    const { name, browser, authenticator } = await openBrowser('viewer')
    const { html } = await browser.open('/console/sign-in')
    const options = optionsOf(html)
    const fields = { challenge: String(options['challenge']), answer: authenticator.signIn(options) }
    const path = '/console/sign-in/passkey'
    expect((await browser.post(path, fields, { Origin: 'https://evil.example' })).status).toBe(403)
    expect((await browser.post(path, fields)).status).toBe(303)
    expect((await browser.post(path, fields)).status).toBe(400)
    const again = optionsOf((await browser.open('/console/sign-in')).html)
    for (const otherwise of [
      { flags: 1 },
      { origin: 'https://evil.example' },
      { rpId: 'evil.example' },
      { challenge: 'x' },
    ]) {
      const wrong = optionsOf((await browser.open('/console/sign-in')).html)
      const answer = authenticator.signIn(wrong, otherwise)
      expect((await browser.post(path, { challenge: String(wrong['challenge']), answer })).status).toBe(400)
    }
    const unknown = new SoftwareAuthenticator(browser.origin)
    unknown.register({ rp: { id: 'localhost' }, user: { id: 'x' }, challenge: 'x' })
    const sent = { challenge: String(again['challenge']), answer: unknown.signIn(again) }
    expect((await browser.post(path, sent)).status).toBe(400)

    await admin('/operators', { method: 'POST', body: { name: 'linked', roles: ['viewer'] } })
    const { body } = await admin('/operators/linked/links', { method: 'POST' })
    const visits = await Promise.all(
      Array.from({ length: 8 }, () => new OperatorBrowser(server.admin).post(body.path, {})),
    )
    expect(visits.map(({ status }) => status).toSorted()).toEqual([303, 400, 400, 400, 400, 400, 400, 400])
    expect((await admin(`/operators/${name}/links`, { method: 'POST' })).body.code).toBe('has_credential')
    const late = await admin('/operators/linked/links', { method: 'POST' })
    clock.advance(15 * 60_000)
    expect((await browser.post(late.body.path, {})).status).toBe(400)
  })
})

describe('a session', () => {
  it('ends after 15 idle minutes, and after 12 hours (AD36)', async () => {
    const { browser, authenticator } = await openBrowser('viewer')
    clock.advance(14 * 60_000)
    expect((await browser.open('/console')).status).toBe(200)
    clock.advance(14 * 60_000)
    expect((await browser.open('/console')).status).toBe(200)
    clock.advance(15 * 60_000)
    expect(await browser.open('/console')).toMatchObject(atSignIn)
    await browser.signIn(authenticator)
    for (let minutes = 0; minutes < 12 * 60 - 10; minutes += 10) {
      expect((await browser.open('/console')).status).toBe(200)
      clock.advance(10 * 60_000)
    }
    clock.advance(10 * 60_000)
    expect(await browser.open('/console')).toMatchObject(atSignIn)
  })

  it('ends with sign-out, on the server too', async () => {
    const { browser } = await openBrowser('viewer')
    const cookie = browser.cookies.get('signet-operator')!
    expect(await browser.post('/console/sign-out', { csrf: await browser.csrf() })).toMatchObject(atSignIn)
    expect(browser.cookies.has('signet-operator')).toBe(false)
    browser.cookies.set('signet-operator', cookie)
    expect(await browser.open('/console')).toMatchObject(atSignIn)
  })

  it('ends when its operator is disabled or removed, or its credential is removed (AD37)', async () => {
    const one = await openBrowser('viewer')
    await patch(one.name, { disabled: true })
    expect(await one.browser.open('/console')).toMatchObject(atSignIn)
    expect((await one.browser.signIn(one.authenticator)).status).toBe(400)

    const two = await openBrowser('viewer')
    const { headers } = await admin(`/operators/${two.name}`)
    const gone = { method: 'DELETE', headers: { 'If-Match': headers.get('etag')! } }
    expect((await admin(`/operators/${two.name}`, gone)).status).toBe(204)
    expect(await two.browser.open('/console')).toMatchObject(atSignIn)

    const three = await openBrowser('viewer')
    const { body } = await admin(`/operators/${three.name}`)
    const path = `/operators/${three.name}/credentials/${body.credentials[0].id}`
    expect((await admin(path, { method: 'DELETE' })).status).toBe(204)
    expect(await three.browser.open('/console')).toMatchObject(atSignIn)
  })
})

describe('operators in the admin API', () => {
  it('are given no permission that the giver lacks, and only the file changes its own', async () => {
    const custodian = await admin('/operators', { method: 'POST', body: { name: 'kate', roles: ['key_custodian'] } })
    expect(custodian).toMatchObject({ status: 403, body: { code: 'more_than_own' } })
    expect(await admin('/operators', { method: 'POST', body: { name: 'Kate', roles: ['viewer'] } })).toMatchObject({
      ...{ status: 400, body: { code: 'name' } },
    })
    for (const name of ['local', 'self', 'tokens', 'admin.token'])
      expect((await admin('/operators', { method: 'POST', body: { name, roles: ['viewer'] } })).status).toBe(400)
    expect(fieldOf('name="a" value="b"', 'a')).toBe('b')
  })
})
