import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { describeWith } from '../support/services/describe-with.js'
import { scanQr } from '../support/server/factors-browser.js'
import { startDemoServer, type DemoServer } from '../support/server/demo-server.js'

describeWith('chromium', 'the demo page as a device', (executablePath) => {
  let browser: Browser
  let server: DemoServer
  let ahead = 0

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath })
    server = await startDemoServer('/op', 'ES256', () => Date.now() + ahead)
  })
  afterAll(async () => {
    await browser.close()
    await server[Symbol.asyncDispose]()
  })

  interface Television {
    readonly page: Page
    readonly context: BrowserContext
    /** How often it has polled. */
    polls(): number
    /** Time passes on the page alone. */
    watch(seconds: number): Promise<void>
    /** Time passes on the page, and by default at the provider; gives the answer to the poll that is due then. */
    nextPoll(seconds?: number, atProvider?: number): Promise<string>
  }

  /** The page waits with a code, at a time that stands still. */
  const withTelevision = async (theme: (television: Television) => Promise<void>, width = 1280): Promise<void> => {
    await using context = await browser.newContext({ viewport: { width, height: 900 } })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    let polls = 0
    page.on('request', (request) => {
      if (request.url().endsWith('/token')) polls++
    })
    await page.clock.install()
    await page.goto(`${server.issuer}/`)
    await page.clock.pauseAt(Date.now() + 1000)
    await page.click('#demo-device-start')
    await page.locator('#demo-device').waitFor({ state: 'visible' })
    const watch = async (seconds: number) => page.clock.runFor(seconds * 1000)
    const nextPoll = async (seconds = 5, atProvider = seconds) => {
      ahead += atProvider * 1000
      const [response] = await Promise.all([page.waitForResponse(`${server.issuer}/token`), watch(seconds)])
      const { error = 'tokens' } = (await response.json()) as { error?: string }
      return error
    }
    await theme({ page, context, polls: () => polls, watch, nextPoll })
    // Chromium reports each answer that is not 200.
    expect(complaints.filter((text) => !/status of (400|503)/.test(text))).toEqual([])
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0)
  }

  const status = (page: Page) => page.locator('#demo-device-status').innerText()
  const problem = async (page: Page): Promise<string> => {
    await page.locator('#demo-problem').waitFor({ state: 'visible' })
    expect(await page.locator('#demo-device').isVisible()).toBe(false)
    expect(await page.locator('#demo-device-start').isVisible()).toBe(true)
    return page.locator('#demo-problem').innerText()
  }

  /** The other device: it has nothing but what the page shows. */
  const openLink = async (page: Page, link: string): Promise<Page> => {
    const address = (await page.getAttribute(link, 'href')) ?? ''
    const phone = await (await browser.newContext({ viewport: { width: 375, height: 740 } })).newPage()
    await phone.goto(address)
    await phone.fill('#username', server.demo.page.username)
    await phone.fill('#password', server.demo.page.password)
    await phone.click('#login-submit')
    await phone.waitForSelector('#device-continue')
    return phone
  }

  const answer = async (phone: Page, decision: 'approve' | 'deny'): Promise<void> => {
    await phone.click('#device-continue')
    expect(await phone.innerText('.lead')).toContain('Demo television')
    await phone.click(`#device-${decision}`)
    await phone.waitForSelector('#device-result')
    await phone.context().close()
  }

  it.each([1280, 375])('%i pixels wide: shows a code, waits, and shows the tokens', async (width) => {
    await withTelevision(async ({ page, nextPoll }) => {
      const code = await page.innerText('#demo-device-code')
      expect(code).toMatch(/^[A-Z]{4}-[A-Z]{4}$/)
      expect(await page.innerText('#demo-device-link')).toBe(`${server.issuer}/device`)
      expect(await scanQr(page)).toBe(`${server.issuer}/device?user_code=${code}`)
      expect(await status(page)).toContain('every 5 seconds')
      expect(await nextPoll()).toBe('authorization_pending')
      const phone = await openLink(page, '#demo-device-link')
      await phone.fill('#user-code', code)
      await answer(phone, 'approve')
      expect(await nextPoll()).toBe('tokens')
      await page.locator('#demo-result').waitFor({ state: 'visible' })
      expect(await page.locator('.checks .failed').allInnerTexts()).toEqual([])
      expect(await page.locator('.checks .passed').count()).toBe(12)
      expect(await page.textContent('#id-token')).toContain('demo-device')
      expect(await page.innerText('#userinfo')).toContain('Dana Q. Example')
      await page.click('#demo-refresh')
      await page.locator('#demo-status', { hasText: 'Refreshed' }).waitFor()
      expect(await page.locator('.checks .failed').allInnerTexts()).toEqual([])
      await page.click('#demo-forget')
      expect(await page.locator('#demo-device-start').isVisible()).toBe(true)
    }, width)
  })

  it('says in words that it was refused', () =>
    withTelevision(async ({ page, nextPoll }) => {
      await answer(await openLink(page, '#demo-device-complete'), 'deny')
      expect(await nextPoll()).toBe('access_denied')
      expect(await problem(page)).toMatch(/denied on the other device.*no token/)
      expect(await page.locator('#demo-result').isVisible()).toBe(false)
    }))

  it('says in words that the code has expired, and asks for a new one', () =>
    withTelevision(async ({ page, nextPoll }) => {
      const code = await page.innerText('#demo-device-code')
      ahead += 600_000
      expect(await nextPoll()).toBe('expired_token')
      expect(await problem(page)).toMatch(/expired before anybody allowed it.*new one/)
      await page.click('#demo-device-start')
      await page.locator('#demo-device').waitFor({ state: 'visible' })
      expect(await page.innerText('#demo-device-code')).not.toBe(code)
    }))

  it('polls no faster than the provider asks, and five seconds slower for each slow_down', () =>
    withTelevision(async ({ page, polls, watch, nextPoll }) => {
      await watch(4.9)
      expect(polls()).toBe(0)
      expect(await nextPoll(0.1)).toBe('authorization_pending')
      expect(await nextPoll(5, 0)).toBe('slow_down')
      await page.locator('#demo-device-status', { hasText: 'every 10 seconds' }).waitFor()
      await watch(9.9)
      expect(polls()).toBe(2)
      expect(await nextPoll(0.1, 10)).toBe('authorization_pending')
    }))

  it('backs off while there is no response, and resumes', () =>
    withTelevision(async ({ page, context, watch, nextPoll }) => {
      await context.route('**/token', async (route) => route.fulfill({ status: 503, body: '{}' }))
      await watch(5)
      await page.locator('#demo-device-status', { hasText: 'every 10 seconds' }).waitFor()
      await context.unroute('**/token')
      expect(await nextPoll(10)).toBe('authorization_pending')
    }))

  it('stops on request', () =>
    withTelevision(async ({ page, polls, watch }) => {
      await page.click('#demo-device-stop')
      await page.locator('#demo-status', { hasText: 'Stopped waiting' }).waitFor()
      await watch(60)
      expect(polls()).toBe(0)
      expect(await page.locator('#demo-device').isVisible()).toBe(false)
    }))
})
