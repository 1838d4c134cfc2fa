import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { withDevices, personAt, tvClient } from '../support/clients/device.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { startReloadServer, type Json, type ReloadServer } from '../support/server/reloading.js'
import { person } from '../support/server/server.js'

// The language of each page, as a browser without scripts is answered it by a running service.

const code = fileURLToPath(new URL('../support/server/code-after-password.ts', import.meta.url))
const twoFactors = 'urn:example:two-factors'

let server: ReloadServer

beforeAll(async () => {
  server = await startReloadServer({
    configure: (written) => ({
      ...withDevices(written),
      plugins: [...(withDevices(written)['plugins'] as Json[]), { use: code }],
      acr_values_supported: [{ acr: twoFactors, methods: ['pwd', 'otp'] }],
      ui: { locales: ['fr', 'en', 'de', 'es', 'ar'] },
    }),
  })
})
afterAll(() => server[Symbol.asyncDispose]())

/** A page, and what it says of its language, which is the same everywhere. */
const languageOf = async (response: Response, html?: string): Promise<string> => {
  const page = html ?? (await response.text())
  const [, lang = '', dir = ''] = /<html lang="([^"]*)" dir="([^"]*)">/.exec(page) ?? []
  expect(response.headers.get('content-language')).toBe(lang)
  expect(response.headers.get('vary')).toBe('Accept-Language')
  expect(dir).toBe(lang === 'ar' ? 'rtl' : 'ltr')
  return lang
}

const browser = (acceptLanguage?: string): UserAgent =>
  // Node sends `*` where nothing is said.
  new UserAgent({ 'accept-language': acceptLanguage ?? '' })

const at = (more: Record<string, string> = {}): string => authorizeUrl(server.issuer, { client_id: 'web', ...more })

const signInPage = async (more: Record<string, string>, acceptLanguage?: string) =>
  (await browser(acceptLanguage).follow(at(more))).response

/** Signs in by password and code on the way to `url`, and returns the page after them. */
const signIn = async (agent: UserAgent, url: string) => {
  const login = await agent.follow(url)
  const second = await agent.submit(login.url, await login.response.text(), { ...person, method: 'password' })
  const html = await second.response.text()
  const page = await agent.submit(second.url, html, { method: 'code', code: '123456', attempt: attemptIn(html) })
  return { ...page, status: page.response.status, html: await page.response.text() }
}

const attemptIn = (html: string): string => /name="attempt" value="([^"]+)"/.exec(html)?.[1] ?? ''

describe('the language of a page', () => {
  it('is named in discovery among those that there are, the first of the configuration first', async () => {
    const discovery = (await (await fetch(`${server.issuer}/.well-known/openid-configuration`)).json()) as Json
    expect(discovery['ui_locales_supported']).toEqual(['fr', 'en', 'de', 'es', 'ar'])
  })

  it.each([
    ['the request goes before the browser', { ui_locales: 'ar' }, 'de', 'ar'],
    ['the browser goes before the configuration', {}, 'de-AT, en;q=0.5', 'de'],
    ['else the configuration says it', {}, undefined, 'fr'],
    ['unknown languages of the request are passed over', { ui_locales: 'ja tlh es-MX' }, 'de', 'es'],
    ['a request for unknown languages alone asks for nothing', { ui_locales: 'ja' }, 'de', 'de'],
    ['malformed ones neither', { ui_locales: '*** <b> de_DE "; drop' }, 'es', 'es'],
    ['an empty one neither', { ui_locales: '' }, 'es', 'es'],
    ['unknown and malformed ones of the browser are passed over', {}, '<script>, ;;q=, tlh;q=1, de;q=0.2', 'de'],
    ['a header of many kilobytes is read as far as browsers go', {}, `${'x-y, '.repeat(1500)}de`, 'fr'],
    ['and gives its first', {}, `es, ${'x-y, '.repeat(1500)}de`, 'es'],
  ])('%s', async (_, more, acceptLanguage, language) => {
    const page = await signInPage(more, acceptLanguage)
    expect(page.status).toBe(200)
    expect(await languageOf(page)).toBe(language)
  })

  it('may not be asked for at any length', async () => {
    const { left } = await browser('es').follow(at({ ui_locales: 'de '.repeat(2000).trim() }))
    expect(left?.searchParams.get('error')).toBe('invalid_request')
  })

  it('is kept from the sign-in through the second factor and consent to the error', async () => {
    const agent = browser('es')
    const texts: string[] = []
    const show = async ({ response, url }: { response: Response; url: URL }) => {
      const html = await response.text()
      expect(await languageOf(response, html)).toBe('de')
      texts.push(/<h1>([^<]*)/.exec(html)?.[1] ?? '')
      return { url, html }
    }
    const login = await show(await agent.follow(at({ ui_locales: 'tlh de', acr_values: twoFactors, scope: 'openid' })))
    const wrong = await show(
      await agent.submit(login.url, login.html, { ...person, password: 'wrong', method: 'password' }),
    )
    expect(wrong.html).toContain('Benutzername oder Passwort ist falsch.')
    const second = await show(await agent.submit(wrong.url, wrong.html, { ...person, method: 'password' }))
    expect(second.html).toContain('Bestätigen Sie mit <bdi>Code per Brief</bdi>, dass Sie es sind.')
    const consent = await show(
      await agent.submit(second.url, second.html, { method: 'code', code: '123456', attempt: attemptIn(second.html) }),
    )
    expect(consent.html).toContain('id="consent-allow"')
    await show(await agent.follow(consent.url, { method: 'POST', body: new URLSearchParams({ decision: 'allow' }) }))
    await show(await agent.submit(consent.url, consent.html, {}))
    expect(texts).toEqual([
      'Anmelden',
      'Anmelden',
      'Anmelden',
      'Zugriff zulassen',
      'Fehler bei der Anmeldung',
      'Fehler bei der Anmeldung',
    ])
    // The application gets its error in English, as the developers of it read it.
    const { left } = await agent.submit(consent.url, consent.html, { decision: 'deny' })
    expect(left?.searchParams.get('error')).toBe('access_denied')
    expect(left?.searchParams.get('error_description')).toMatch(/^[\x20-\x7e]+$/)
  })

  it('is there before a client is known, and where no page is', async () => {
    const errors = [
      at({ client_id: 'nobody', ui_locales: 'ar' }),
      at({ redirect_uri: 'https://elsewhere.example/', ui_locales: 'ar' }),
      `${server.issuer}/authorize?ui_locales=ar`,
      `${server.issuer}/interaction/none/login?ui_locales=ar`,
      `${server.issuer}/logout?client_id=a&client_id=b&ui_locales=ar`,
    ]
    for (const url of errors) {
      const { response } = await browser('es').follow(url)
      expect([url, response.status >= 400, await languageOf(response)]).toEqual([url, true, 'ar'])
    }
    const { response } = await browser('es').follow(`${server.issuer}/authorize`)
    expect(await languageOf(response)).toBe('es')
    const home = await browser('de').fetch(server.issuer)
    expect(await languageOf(home)).toBe('de')
  })

  it('of the pages of sign-out is that of the request, through the form', async () => {
    const agent = browser('es')
    await signIn(agent, at())
    const ask = await agent.follow(`${server.issuer}/logout?ui_locales=ar`)
    const html = await ask.response.text()
    expect(await languageOf(ask.response, html)).toBe('ar')
    expect(html).toContain('name="ui_locales" value="ar"')
    const asked = await agent.fetch(`${server.issuer}/logout`, {
      method: 'POST',
      body: new URLSearchParams({ ui_locales: 'ar' }),
    })
    expect(await languageOf(asked)).toBe('ar')
    const forged = await agent.fetch(`${server.issuer}/logout`, {
      method: 'POST',
      body: new URLSearchParams({ csrf: 'forged', ui_locales: 'ar' }),
    })
    expect([forged.status, await languageOf(forged)]).toEqual([403, 'ar'])
    const out = await agent.submit(new URL(`${server.issuer}/logout`), html, { ui_locales: 'ar' })
    expect(await languageOf(out.response)).toBe('ar')
  })

  it('of the pages of devices and of the account is that of the browser', async () => {
    const agent = browser('de')
    const visitor = personAt(agent, server.issuer)
    const started = await fetch(`${server.issuer}/device_authorization`, {
      method: 'POST',
      body: new URLSearchParams({ client_id: tvClient.client_id, scope: 'openid' }),
    })
    const { user_code } = (await started.json()) as { user_code: string }
    const enter = await signIn(agent, `${server.issuer}/device`)
    const wrong = await visitor.enter(enter, 'BBBB-BBBB')
    const confirm = await visitor.enter(enter, user_code)
    const done = await visitor.decide(confirm, 'approve')
    const titles = [enter, wrong, confirm, done].map(({ html }) => /<h1>([^<]*)/.exec(html)?.[1])
    expect(titles).toEqual(['Gerät verbinden', 'Gerät verbinden', 'Dieses Gerät zulassen', 'Gerät verbunden'])
    const account = await agent.follow(`${server.issuer}/account`)
    expect(await languageOf(account.response)).toBe('de')
    const { response } = await browser('ar').follow(`${server.issuer}/account`)
    expect(await languageOf(response)).toBe('ar')
  })
})

describe('a reload', () => {
  const write = async (path: string, text: string) => {
    await mkdir(join(server.directory, path, '..'), { recursive: true })
    await writeFile(join(server.directory, path), text)
  }
  const page = async (acceptLanguage: string) => (await signInPage({}, acceptLanguage)).text()
  const layout = (text: string) =>
    `<html lang="<%= it.language %>" dir="<%= it.dir %>"><title>${text}</title><%~ it.body %></html>`
  const messages = (texts: Json) => write('texts/de.json', JSON.stringify(texts))
  const sheet = (css: string) => write('brand.css', css)

  beforeEach(async () => {
    await messages({ 'login.title': 'Grüß Gott' })
    await sheet('h1 { color: green }')
    await write('templates/layout.eta', layout('First'))
    await server.edit((file) => ({
      ...file,
      ui: { name: 'Bank', messages: './texts', stylesheet: './brand.css', templates: './templates' },
    }))
    expect((await server.reload()).status).toBe(200)
  })

  it('shows new texts, styles and templates without a restart', async () => {
    const before = await page('de')
    expect([before.includes('<h1>Grüß Gott</h1>'), before.includes('<title>First</title>')]).toEqual([true, true])
    await messages({ 'login.title': 'Servus' })
    await write('texts/it.json', JSON.stringify({ 'login.title': 'Accedi' }))
    await write('templates/layout.eta', layout('Second'))
    expect(await server.reload()).toMatchObject({ status: 200, body: { status: 'reloaded', changes: { ui: {} } } })
    const after = await page('de')
    expect([after.includes('<h1>Servus</h1>'), after.includes('<title>Second</title>')]).toEqual([true, true])
    expect(await page('it')).toContain('<h1>Accedi</h1>')
    const discovery = (await (await fetch(`${server.issuer}/.well-known/openid-configuration`)).json()) as Json
    expect(discovery['ui_locales_supported']).toContain('it')
    await rm(join(server.directory, 'texts/it.json'))
  })

  it.each([
    ['texts that are not JSON', 'texts/de.json', '{', 'ui.messages', 'de.json: is not JSON'],
    [
      'a text that is none',
      'texts/de.json',
      '{"login.titel":"x"}',
      'ui.messages',
      'login.titel is no text of the pages',
    ],
    ['a stylesheet that loads another', 'brand.css', '@import "x";', 'ui.stylesheet', 'loads other files'],
    ['a template that is broken', 'templates/login.eta', '<% if (', 'ui.templates', 'cannot be compiled: login.eta'],
    ['a template that nobody could work with', 'templates/login.eta', 'Hello', 'ui.templates', 'the page login lacks'],
  ])('keeps what there was where a file has %s, and says so', async (_, path, text, key, message) => {
    await write(path, text)
    const { status, body } = await server.reload()
    const problems = body['problems'] as { path: string; message: string }[]
    expect([status, [...new Set(problems.map((problem) => problem.path))]]).toEqual([400, [key]])
    expect(problems[0]?.message).toContain(message)
    const html = await page('de')
    expect([html.includes('<h1>Grüß Gott</h1>'), html.includes('id="login-submit"')]).toEqual([true, true])
    await rm(join(server.directory, path))
  })
})
