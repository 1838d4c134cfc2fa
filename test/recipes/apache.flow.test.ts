import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { beforeAll, expect, it } from 'vitest'
import { startApache, type Apache } from '../support/clients/apache.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { codeBlock, runCommands } from '../support/document.js'
import { freePort } from '../support/free-port.js'
import { testCertificate } from '../support/server/certificate.js'
import { createDeployment, type Deployment, type SignetProcess } from '../support/server/processes.js'
import { person, subject } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'

const document = 'docs/recipes/apache.md'
const pages = {
  'index.html': '<h1>Intranet</h1>',
  'signed-out.html': '<h1>Signed out of the intranet</h1>',
}

describeWith(['chromium', 'mod-auth-openidc'], document, (executablePath) => {
  const keep = disposeAfterAll()
  let deployment: Deployment
  let [replica, other]: SignetProcess[] = []
  let apache: Apache
  let command: (commands: string) => Promise<string>
  let browser: Browser
  let intranet: string

  beforeAll(async () => {
    const port = String(await freePort())
    intranet = `https://localhost:${port}`
    const block = (name: string) => codeBlock(document, name).replaceAll('https://www.example.com', intranet)
    const outbound = { allow_private_addresses: true }
    deployment = keep(await createDeployment((written) => ({ ...written, outbound })))
    const { directory, issuer } = deployment
    await writeFile(join(directory, 'authority.pem'), testCertificate.cert)
    const trust = { NODE_EXTRA_CA_CERTS: join(directory, 'authority.pem') }
    replica = await deployment.start(undefined, trust)
    other = await deployment.start(undefined, trust)
    command = (commands) => runCommands(directory, commands.replace('my.yaml', 'signet.yaml'))
    const [, secret = ''] = /^client_secret +(\S+)/m.exec(await command(block('register'))) ?? []
    const site = (folder: string) =>
      block('intranet.conf')
        .replaceAll('https://id.example.com', issuer)
        .replaceAll('/etc/ssl/intranet', folder)
        .replace('/var/www/intranet', join(folder, 'pages'))
        .replace('*:443', `127.0.0.1:${port}`)
    const env = { CLIENT_SECRET: secret, SESSION_SECRET: randomBytes(32).toString('hex') }
    apache = keep(await startApache({ port, site, pages, env }))
    browser = keep(await chromium.launch({ executablePath }))
  })

  const heading = (page: Page) => page.locator('h1').innerText()

  /** A person's own browser, up to the page of Signet that the intranet sends it to. */
  const visit = async () => {
    const context = await browser.newContext({ ignoreHTTPSErrors: true })
    const page = await context.newPage()
    await page.goto(intranet)
    return { context, page, [Symbol.asyncDispose]: () => context.close() }
  }

  const signIn = async (page: Page) => {
    await page.fill('#username', person.username)
    await page.fill('#password', person.password)
    await page.click('#login-submit')
    const consent = page.locator('#consent-allow')
    await consent.or(page.getByRole('heading', { name: 'Intranet' })).waitFor()
    if (await consent.isVisible()) await consent.click()
    await page.waitForURL(`${intranet}/`)
    expect(await heading(page)).toBe('Intranet')
  }

  /** 200 with a session of the module; 302 to the sign-in without. */
  const status = async ({ request }: BrowserContext) =>
    (await request.get(`${intranet}/index.html`, { maxRedirects: 0 })).status()

  it('shows that a person who denies access is not signed in, and asks no further', async () => {
    await using visitor = await visit()
    const { page } = visitor
    await page.fill('#username', person.username)
    await page.fill('#password', person.password)
    await page.click('#login-submit')
    await page.click('#consent-deny')
    await page.waitForURL(`${intranet}/**`)
    expect(await page.content()).toContain('access_denied')
    expect(await status(visitor.context)).toBe(302)
  })

  it('signs in, and hears over TLS 1.3 that the person signed out at another replica, which the first knows at once', async () => {
    await using visitor = await visit()
    const { context, page } = visitor
    await signIn(page)
    expect(await status(context)).toBe(200)

    await page.goto(`${other?.origin ?? ''}/logout`)
    await page.click('#logout-confirm')
    expect(await heading(page)).toBe('Signed out')
    await page.goto(`${replica?.origin ?? ''}/logout`)
    expect(await heading(page)).toBe('Signed out')
    await expect.poll(() => status(context)).toBe(302)
    // It revokes the tokens that it had before it answers.
    await expect.poll(apache.requests).toContain('TLSv1.3 POST /oidc/callback?logout=backchannel 200')
    expect(await apache.requests()).toContain('TLSv1.3 GET /index.html 200 alice@bank.example')
  })

  it('hears that an operator ended the sessions of a person, and leaves others alone', async () => {
    await using visitor = await visit()
    await using stranger = await visit()
    await signIn(visitor.page)
    await signIn(stranger.page)
    const sid = (await deployment.audit()).filter(({ event }) => event === 'login.succeeded').at(-2)?.['sid']
    await command(`npx signet-idp sessions end --config my.yaml --sub ${subject} --sid=${String(sid)}`)
    await expect.poll(() => status(visitor.context)).toBe(302)
    expect(await status(stranger.context)).toBe(200)
  })

  it('signs out at Signet, too', async () => {
    await using visitor = await visit()
    const { context, page } = visitor
    await signIn(page)
    await page.goto(`${intranet}/oidc/callback?logout=${encodeURIComponent(`${intranet}/signed-out.html`)}`)
    await page.waitForURL(`${intranet}/signed-out.html`)
    expect(await heading(page)).toBe('Signed out of the intranet')
    expect(await status(context)).toBe(302)
    await page.goto(intranet)
    expect(await heading(page)).toBe('Sign in')
  })
})
