import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { consoleRoutes } from '../../core/console/routes.js'
import { consoleLanguages } from '../../core/console/documents.js'
import { toCsv } from '../../core/console/csv.js'
import { packageRoot } from '../../core/package-root.js'
import { fieldOf, OperatorBrowser } from '../support/server/operator-browser.js'
import { startOperatorServer, type AskApi, type OperatorServer } from '../support/server/operator-server.js'

let server: OperatorServer
let admin: AskApi
let browser: OperatorBrowser
beforeAll(async () => {
  server = await startOperatorServer({
    configure: (written) => ({ ...written, registration: { mode: 'initial_access_token' } }),
  })
  admin = await server.as('operator')
  browser = await open('olga', 'operator', 'key_custodian')
})
afterAll(() => server[Symbol.asyncDispose]())

/** A browser that is signed in as a new operator with these roles. */
const open = async (name: string, ...roles: readonly string[]): Promise<OperatorBrowser> => {
  const all = await server.as('operator', 'key_custodian')
  expect((await all('/operators', { method: 'POST', body: { name, roles } })).status).toBe(201)
  const opened = new OperatorBrowser(server.admin)
  expect((await opened.useLink(all, name)).status).toBe(303)
  return opened
}

/** Opens the page with a form, fills it in and sends it. */
const send = async (page: string, fields: Readonly<Record<string, string>>, to = page) => {
  const { html, status } = await browser.open(page)
  expect(status, page).toBe(200)
  const hidden = Object.fromEntries(
    [...html.matchAll(/<input type="hidden" name="(etag)" value="([^"]*)">/g)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll('&quot;', '"'),
    ]),
  )
  return browser.post(to, { csrf: fieldOf(html, 'csrf'), ...hidden, ...fields })
}

const client = (client_id: string, client_name: string) => ({
  ...{ client_id, client_name, redirect_uris: ['https://rp.example/cb'], contacts: ['team@rp.example'] },
})

const pages = consoleRoutes.filter(({ method, path }) => method === 'GET' && !path.includes('{'))

describe('the console', () => {
  it.each(pages.map(({ path }) => path))('shows %s', async (path) => {
    const wanted = path === '/audit/export' ? '/audit/export?format=jsonl' : path
    const { status, html, headers } = await browser.open(`/console${wanted}`)
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toContain('no-store')
    if (path !== '/audit/export') {
      expect(html).toMatch(/^<!doctype html>/)
      expect(headers.get('content-security-policy')).toContain("script-src 'self'")
      expect(html).not.toMatch(/>undefined<|\bundefined"|\[object Object\]/)
    }
  })

  it('creates a client whose secret is shown once, changes and deletes it', async () => {
    const created = await send('/console/clients/new', {
      ...{ client_id: 'shop', client_name: 'Shop', redirect_uris: 'https://shop.example/cb\nhttps://shop.example/2' },
      ...{
        grant_types: 'authorization_code',
        token_endpoint_auth_method: 'client_secret_basic',
        application_type: 'web',
      },
    })
    expect(created.status).toBe(200)
    const secret = /<code>([\w-]{43})<\/code>/.exec(created.html)?.[1]
    expect(secret).toBeDefined()
    expect((await admin('/clients/shop')).body).toMatchObject({
      ...{ client_name: 'Shop', redirect_uris: ['https://shop.example/cb', 'https://shop.example/2'] },
    })
    const { html } = await browser.open('/console/clients/shop')
    expect(html).toContain('Shop')
    expect(html).not.toContain(secret)

    const faulty = await send('/console/clients/shop/edit', { client_name: 'Shop', redirect_uris: 'not a uri' })
    expect(faulty.status).toBe(400)
    expect(faulty.html).toContain('not a uri')
    expect(faulty.html).toContain('field-fault')
    const edited = await send('/console/clients/shop/edit', {
      ...{ client_name: 'Shop 2', redirect_uris: 'https://shop.example/cb', grant_types: 'authorization_code' },
    })
    expect(edited).toMatchObject({ status: 303, location: '/console/clients/shop?notice=client_changed' })

    const mistyped = await send('/console/clients/shop/delete', { typed: 'shop2' })
    expect(mistyped.status).toBe(400)
    expect((await send('/console/clients/shop/delete', { typed: 'shop' })).location).toContain('client_deleted')
    expect((await admin('/clients/shop')).status).toBe(404)
    // The back button shows a page whose form finds nothing any more.
    expect((await browser.open('/console/clients/shop/delete')).status).toBe(404)
  })

  it('AD50: lets the first of two changes of one version win, and says so to the second', async () => {
    await admin('/clients', { method: 'POST', body: client('two', 'Two') })
    const { html } = await browser.open('/console/clients/two/disable')
    const fields = { csrf: fieldOf(html, 'csrf'), etag: fieldOf(html, 'etag') }
    expect((await browser.post('/console/clients/two/disable', fields)).status).toBe(303)
    const second = await browser.post('/console/clients/two/disable', fields)
    expect(second.status).toBe(412)
    expect(second.html).toContain('Somebody has changed this')
  })

  it('helps a person: ends, recovers, disables', async () => {
    const created = await admin('/people', { method: 'POST', body: { username: 'dora', claims: { name: 'Dora' } } })
    const { sub } = created.body as { sub: string }
    const at = `/console/people/${sub}`
    expect((await browser.open(at)).html).toContain('Dora')
    expect((await send(`${at}/end`, { factors: 'on' })).location).toContain('person_ended')
    const link = await send(`${at}/recover`, {})
    expect(link.html).toContain(`${server.issuer}/`)
    expect((await send(`${at}/disable`, {})).location).toContain('person_disabled')
    expect((await admin(`/people/${sub}`)).body).toMatchObject({ disabled: true })
    expect((await send(`${at}/edit`, { username: 'dora', claims: '{"name":"Dora D."}' })).location).toContain(
      'person_changed',
    )
    expect((await admin(`/people/${sub}`)).body).toMatchObject({ claims: { name: 'Dora D.' } })
    expect((await send(`${at}/edit`, { username: 'dora', claims: '[]' })).status).toBe(400)
  })

  it('AD51: shows names of clients and people as text on every page', async () => {
    const attack = '<script>window.hit=1</script>'
    const quoted = `"><img src=x onerror="window.hit=1">`
    await admin('/clients', { method: 'POST', body: client(`id ${quoted}`, attack) })
    const person = await admin('/people', {
      method: 'POST',
      body: { username: 'mallory', claims: { name: attack, email: quoted } },
    })
    const { sub } = person.body as { sub: string }
    await admin('/operators/tokens', { method: 'POST', body: { name: 'ci', roles: ['viewer'] } })
    const shown = ['/clients', `/clients/${encodeURIComponent(`id ${quoted}`)}`, '/people', `/people/${sub}`, '/audit']
    for (const path of [
      ...shown,
      `/audit?object=${encodeURIComponent(quoted)}`,
      `/clients?search=${encodeURIComponent(attack)}`,
    ]) {
      const { html } = await browser.open(`/console${path}`)
      expect(html, path).not.toContain(attack)
      expect(html, path).not.toContain('<img src=x')
    }
  })

  it('shows an operator what the roles permit, and nothing else', async () => {
    const support = await open('sam', 'support')
    const { html } = await support.open('/console/people')
    expect(html).not.toContain('/console/clients')
    expect(html).not.toContain('/console/people/new')
    expect((await support.open('/console/clients')).status).toBe(403)
  })

  it('proves a signer, and verifies the audit log', async () => {
    const { html } = await browser.open('/console/signers')
    const [, name] = /action="\/console\/signers\/([^"]+)\/prove"/.exec(html)!
    const proved = await browser.post(`/console/signers/${name}/prove`, { csrf: fieldOf(html, 'csrf') })
    expect(proved.html).toContain('verified with the published key')
    expect((await browser.open('/console/audit/verification')).html).toContain('unchanged')
  })

  it('speaks every language of its texts completely', async () => {
    const folder = (language: string) => join(packageRoot, 'core/console/messages', language)
    const keysOf = (language: string): readonly string[] =>
      readdirSync(folder(language)).flatMap((file) =>
        Object.keys(JSON.parse(readFileSync(join(folder(language), file), 'utf8')) as object),
      )
    /** Languages differ in their plural forms. */
    const plain = (keys: readonly string[]): readonly string[] =>
      [...new Set(keys.map((key) => key.replace(/#.*/, '')))].toSorted()
    for (const language of consoleLanguages) expect(plain(keysOf(language)), language).toEqual(plain(keysOf('en')))
    const { html } = await browser.open('/console', { 'Accept-Language': 'ar' })
    expect(html).toContain('<html lang="ar" dir="rtl">')
  })
})

describe('CSV', () => {
  it('AD52: holds no formula that a spreadsheet would run', () => {
    const lines = [
      { sub: '=HYPERLINK("x")', note: '@a, "b"', count: -1 },
      { sub: '+1', other: '\tx' },
    ]
    expect(toCsv(lines)).toBe('sub,note,count,other\r\n"\'=HYPERLINK(""x"")","\'@a, ""b""",-1,\r\n\'+1,,,\'\tx\r\n')
  })
})
