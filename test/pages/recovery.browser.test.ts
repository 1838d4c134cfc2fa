import { chromium, type Browser, type CDPSession, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { passkeyAuthenticator, withPasskeys } from '../support/server/passkey-server.js'
import { issueLink } from '../support/server/recovery-link.js'
import { startServer, subject, type TestServer } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'

describeWith('chromium', 'a person with a recovery link', (executablePath) => {
  let browser: Browser
  let page: Page
  let protocol: CDPSession
  let server: TestServer
  const complaints: string[] = []
  beforeAll(async () => {
    server = await startServer({ configure: withPasskeys })
    browser = await chromium.launch({ executablePath })
    const context = await browser.newContext({ locale: 'en-GB' })
    page = await context.newPage()
    page.on('pageerror', (error) => complaints.push(error.message))
    protocol = await context.newCDPSession(page)
    await protocol.send('WebAuthn.enable')
  })
  afterAll(async () => {
    await browser.close()
    await server[Symbol.asyncDispose]()
  })

  it('adds a passkey, finishes, and signs in with it', async () => {
    const { authenticatorId } = await protocol.send('WebAuthn.addVirtualAuthenticator', {
      options: passkeyAuthenticator,
    })
    await page.goto(await issueLink(server, { subject, username: 'alice' }))
    expect(await page.innerText('.account .name')).toBe('Alice Adams')
    await page.click('#recovery-continue')
    await page.waitForSelector('#recovery')
    expect(await page.locator('section').evaluateAll((all) => all.map(({ id }) => id))).toEqual([
      'password',
      'passkeys',
    ])
    await page.click('#passkeys-open')
    await page.click('#passkey-add')
    await page.locator('#passkeys .notice').waitFor()
    // What the sign-in page offers among the suggestions waits for the button.
    await protocol.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: false })
    await page.click('#sign-out')
    const button = page.locator('form[data-ceremony] button.method')
    await button.waitFor()
    await protocol.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: true })
    await button.click()
    await page.waitForSelector('#sessions')
    const all = await server.audit()
    expect(all.findLast(({ event }) => event === 'login.succeeded')).toMatchObject({
      ...{ sub: subject, amr: ['hwk', 'user'], method: 'passkey' },
    })
    expect(complaints).toEqual([])
  })

  it('needs no JavaScript for the page of the link', async () => {
    await using without = await browser.newContext({ javaScriptEnabled: false, locale: 'de-DE' })
    const plain = await without.newPage()
    const link = await issueLink(server, { subject, username: 'alice' })
    await plain.goto(link)
    expect(await plain.innerText('h1')).toBe('Konto wiederherstellen')
    await plain.click('#recovery-continue')
    await plain.waitForSelector('#recovery')
    await plain.goto(link)
    expect(await plain.innerText('[role=alert]')).toContain('bereits verwendet')
  })
})
