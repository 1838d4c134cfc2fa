import { chromium, type Browser, type BrowserContext, type CDPSession, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { passkeyAuthenticator, withPasskeys } from '../support/server/passkey-server.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'

describeWith('chromium', 'a person who signs in with a passkey', (executablePath) => {
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let protocol: CDPSession
  let server: TestServer
  let authenticatorId: string
  const complaints: string[] = []
  beforeAll(async () => {
    server = await startServer({ configure: withPasskeys })
    browser = await chromium.launch({ executablePath })
    context = await browser.newContext({ locale: 'en-GB' })
    page = await context.newPage()
    page.on('pageerror', (error) => complaints.push(error.message))
    protocol = await context.newCDPSession(page)
    await protocol.send('WebAuthn.enable')
    ;({ authenticatorId } = await protocol.send('WebAuthn.addVirtualAuthenticator', { options: passkeyAuthenticator }))
    await page.goto(`${server.issuer}/account`)
    // Nobody touches it: what the page offers among the suggestions waits.
    await protocol.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: false })
    await page.fill('#username', person.username)
    await page.fill('#password', person.password)
    await page.click('#login-submit')
    await page.click('#passkeys-open')
    await protocol.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: true })
    await page.click('#passkey-add')
    await page.locator('#passkeys .notice').waitFor()
  })
  afterAll(async () => {
    await browser.close()
    await server[Symbol.asyncDispose]()
  })

  const touch = (enabled: boolean) =>
    protocol.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled })

  const signedIn = async () => {
    await page.waitForSelector('#sessions')
    const all = (await server.audit()).filter(({ event }) => event === 'login.succeeded')
    return all.at(-1)
  }

  it('picks it in the field for the username (conditional UI)', async () => {
    await touch(true)
    await context.clearCookies()
    await page.goto(`${server.issuer}/account`)
    expect(await signedIn()).toMatchObject({ sub: subject, amr: ['hwk', 'user'], method: 'passkey' })
    await page.locator('#passkeys').getByText('Last used').waitFor()
  })

  it('clicks the button', async () => {
    await touch(false)
    await context.clearCookies()
    await page.goto(`${server.issuer}/account`)
    expect(await page.getAttribute('#username', 'autocomplete')).toBe('username webauthn')
    const button = page.locator('form[data-ceremony] button.method')
    await button.waitFor()
    await touch(true)
    await button.click()
    expect(await signedIn()).toMatchObject({ sub: subject, amr: ['hwk', 'user'] })
    expect(complaints).toEqual([])
  })
})
