import { chromium, type Browser, type BrowserContext, type CDPSession, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { passkeyAuthenticator as authenticator, withPasskeys } from '../support/server/passkey-server.js'
import { person, startServer, type TestServer } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'

describeWith('chromium', 'a person with passkeys', (executablePath) => {
  let browser: Browser
  let context: BrowserContext
  let page: Page
  let protocol: CDPSession
  let server: TestServer
  const complaints: string[] = []
  beforeAll(async () => {
    server = await startServer({ configure: withPasskeys })
    browser = await chromium.launch({ executablePath })
    context = await browser.newContext({ locale: 'en-GB' })
    page = await context.newPage()
    page.on('pageerror', (error) => complaints.push(error.message))
    protocol = await context.newCDPSession(page)
    await protocol.send('WebAuthn.enable')
  })
  afterAll(async () => {
    await browser.close()
    await server[Symbol.asyncDispose]()
  })

  const signInByPassword = async (): Promise<void> => {
    await page.fill('#username', person.username)
    await page.fill('#password', person.password)
    await page.click('#login-submit')
  }

  const expectFit = async (): Promise<void> => {
    for (const width of [375, 1280]) {
      await page.setViewportSize({ width, height: 800 })
      expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0)
    }
  }

  it('adds two, is told where there is one already, names and removes one', async () => {
    const { authenticatorId } = await protocol.send('WebAuthn.addVirtualAuthenticator', { options: authenticator })
    await page.goto(`${server.issuer}/account`)
    await signInByPassword()
    await page.click('#passkeys-open')
    await page.fill('#passkey-name', 'Laptop')
    await expectFit()
    await page.click('#passkey-add')
    const section = page.locator('#passkeys')
    await section.locator('.notice').waitFor()
    expect(await section.locator('h3').allInnerTexts()).toEqual(['Laptop'])
    const { credentials } = await protocol.send('WebAuthn.getCredentials', { authenticatorId })
    expect(credentials).toMatchObject([{ isResidentCredential: true, rpId: 'localhost' }])

    await page.click('#passkeys-open')
    await page.click('#passkey-add')
    await page.waitForFunction(`document.getElementById('passkey-problem').textContent.includes('already')`)

    await protocol.send('WebAuthn.addVirtualAuthenticator', {
      options: { ...authenticator, transport: 'usb' },
    })
    await protocol.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })
    await page.click('#passkey-add')
    await section.locator('.notice').waitFor()
    expect(await section.locator('h3').allInnerTexts()).toEqual(['Laptop', 'Security key'])
    await expectFit()

    await section.locator('summary').nth(1).click()
    await section.locator('input[name=name]').nth(1).fill('Key ring')
    await section.getByRole('button', { name: 'Rename' }).click()
    await section.getByText('has its new name').waitFor()
    await section.locator('summary').first().click()
    await section.getByRole('button', { name: 'Remove Laptop' }).click()
    await section.getByText('The passkey is removed.').waitFor()
    expect(await section.locator('h3').allInnerTexts()).toEqual(['Key ring'])
    expect(complaints).toEqual([])
  })

  it('says that passkeys need JavaScript', async () => {
    await using without = await browser.newContext({ javaScriptEnabled: false, locale: 'en-GB' })
    const plain = await without.newPage()
    await plain.goto(`${server.issuer}/account/passkeys`)
    await plain.fill('#username', person.username)
    await plain.fill('#password', person.password)
    await plain.click('#login-submit')
    expect(await plain.innerText('#passkeys')).toContain('Passkeys need JavaScript.')
    expect(await plain.locator('#passkey-form').isVisible()).toBe(false)
  })
})
