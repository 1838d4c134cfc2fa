import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { tvClient, withDevices } from '../support/clients/device.js'
import { person, startServer, type TestServer } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'

describeWith('chromium', 'a person with a phone, and a device', (executablePath) => {
  let browser: Browser
  let server: TestServer
  let ahead = 0
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath })
    server = await startServer({ configure: withDevices, clock: () => Date.now() + ahead })
  })
  afterAll(async () => {
    await browser.close()
    await server[Symbol.asyncDispose]()
  })
  // What the last test typed is forgotten.
  beforeEach(() => void (ahead += 3_600_000))

  const start = async (): Promise<Record<'user_code' | 'verification_uri_complete', string>> => {
    const body = new URLSearchParams({ client_id: tvClient.client_id, scope: 'openid profile offline_access read' })
    const response = await fetch(`${server.issuer}/device_authorization`, { method: 'POST', body })
    return (await response.json()) as Record<'user_code' | 'verification_uri_complete', string>
  }

  /** What a phone of 375 pixels shows is whole, and big enough for a thumb. */
  const heading = async (page: Page): Promise<string> => {
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0)
    const small = await page.$$eval('button:not([hidden]), input:not([type=hidden]), a', (targets) =>
      targets.map((target) => target.getBoundingClientRect().height).filter((height) => height < 44),
    )
    expect(small).toEqual([])
    return page.getByRole('heading', { level: 1 }).innerText()
  }

  /** A warning below the button would be read too late. */
  const expectWarningAbove = async (page: Page, button: string): Promise<void> => {
    const [warning, target] = await Promise.all(
      ['#device-warning', button].map((selector) => page.locator(selector).boundingBox()),
    )
    expect(warning!.y + warning!.height).toBeLessThan(target!.y)
  }

  const signIn = async (page: Page): Promise<void> => {
    expect(await heading(page)).toBe('Sign in')
    expect(await page.innerText('main')).toContain('to connect a device')
    await page.fill('#username', person.username)
    await page.fill('#password', person.password)
    await page.click('#login-submit')
    await page.waitForSelector('#device-continue')
  }

  const enter = async (page: Page, code: string): Promise<void> => {
    await page.fill('#user-code', code)
    await page.click('#device-continue')
    await page.waitForLoadState()
  }

  const result = async (page: Page, button: string): Promise<string> => {
    await page.click(button)
    await page.waitForSelector('#device-result')
    return heading(page)
  }

  describe.each([true, false])('with javaScriptEnabled: %s', (javaScriptEnabled) => {
    const walk = async (theme: (page: Page) => Promise<void>): Promise<void> => {
      await using context = await browser.newContext({ viewport: { width: 375, height: 740 }, javaScriptEnabled })
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      page.on('pageerror', (error) => complaints.push(error.message))
      await theme(page)
      // Chromium reports each answer that is not 200.
      expect(complaints.filter((text) => !/status of 400/.test(text))).toEqual([])
    }

    it('types the code, sees who asks for what from where, and allows it; then it is used', () =>
      walk(async (page) => {
        const { user_code } = await start()
        await page.goto(`${server.issuer}/device`)
        await signIn(page)
        expect(await heading(page)).toBe('Connect a device')
        if (javaScriptEnabled) expect(await page.locator('#user-code:focus').count()).toBe(1)
        await expectWarningAbove(page, '#device-continue')
        await enter(page, user_code.toLowerCase().replace('-', ' '))
        expect(await heading(page)).toBe('Allow this device?')
        await expectWarningAbove(page, '#device-approve')
        expect(await page.innerText('.lead')).toContain('Living room TV')
        expect(await page.innerText('#device-code')).toBe(user_code)
        expect(await page.innerText('#device-place')).toMatch(/127\.0\.0\.1\s+the same address as yours/)
        expect(await page.locator('.wishes li').allInnerTexts()).toEqual([
          'Know who you are',
          'See your profile, such as your name and picture',
          'Keep this access while you are away',
          'Use the permission read',
        ])
        expect(await result(page, '#device-approve')).toBe('Device connected')
        expect(await page.locator('#device-again').count()).toBe(0)

        await page.goto(`${server.issuer}/device`)
        await enter(page, user_code)
        expect(await heading(page)).toBe('This code has already been used')
        await page.click('#device-again')
        await page.waitForSelector('#device-continue')
      }))

    it('follows the link with the code in it, and still decides; a no stays', () =>
      walk(async (page) => {
        const { user_code, verification_uri_complete } = await start()
        await page.goto(verification_uri_complete)
        await signIn(page)
        expect(await page.inputValue('#user-code')).toBe(user_code)
        await page.click('#device-continue')
        await page.waitForSelector('#device-deny')
        expect(await result(page, '#device-deny')).toBe('Access denied')
        await page.goto(verification_uri_complete)
        await page.click('#device-continue')
        await page.waitForSelector('#device-result')
        expect(await heading(page)).toBe('This request was already denied')
        expect(await page.innerText('main')).toContain('get a new code from it')
      }))

    it('types a code that has expired, or decides too late, and the page says what to do', () =>
      walk(async (page) => {
        const [early, late] = [await start(), await start()]
        await page.goto(`${server.issuer}/device`)
        await signIn(page)
        await enter(page, late.user_code)
        expect(await heading(page)).toBe('Allow this device?')
        ahead += 600_000
        expect(await result(page, '#device-approve')).toBe('This code has expired')
        await page.click('#device-again')
        await page.waitForSelector('#device-continue')
        await enter(page, early.user_code)
        expect(await heading(page)).toBe('This code has expired')
        expect(await page.innerText('main')).toContain('get a new code from it')
        expect(await page.getAttribute('#device-again', 'href')).toBe(`${server.issuer}/device`)
        const fresh = await start()
        await page.click('#device-again')
        await page.waitForSelector('#device-continue')
        await enter(page, fresh.user_code)
        expect(await result(page, '#device-approve')).toBe('Device connected')
      }))

    it('types a wrong code, and the page says what to do', () =>
      walk(async (page) => {
        await page.goto(`${server.issuer}/device`)
        await signIn(page)
        await enter(page, 'BBBB-CCCC')
        expect(await heading(page)).toBe('Connect a device')
        expect(await page.getByRole('alert').innerText()).toContain('Check it against your device')
        expect(await page.locator('#user-code[aria-invalid=true][aria-describedby=problem]').count()).toBe(1)
      }))
  })
})
