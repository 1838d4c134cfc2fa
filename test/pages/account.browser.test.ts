import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { visitAccount } from '../support/server/account-visitor.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { addPeople } from '../support/server/password-form.js'
import { person, startServer, type TestServer } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'

const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:128.0) Gecko/20100101 Firefox/128.0'

const bob = { username: 'bob', password: 'a password of Bob alone', sub: 'bob-1' }

describeWith('chromium', 'a person at /account', (executablePath) => {
  let browser: Browser
  let server: TestServer
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath })
    server = await startServer()
    await addPeople(server.directory, bob)
  })
  afterAll(async () => {
    await browser.close()
    await server[Symbol.asyncDispose]()
  })

  const signInElsewhere = async (): Promise<void> => {
    await visitAccount(server.issuer, new UserAgent({ 'user-agent': firefox })).signIn(person)
  }

  const signIn = async (page: Page, who = person): Promise<void> => {
    await page.fill('#username', who.username)
    await page.fill('#password', who.password)
    await page.click('#login-submit')
    await page.waitForSelector('#sessions')
  }

  const open = async (
    options: BrowserContextOptions,
    work: (page: Page) => Promise<void>,
    who = person,
    expected: readonly string[] = [],
  ): Promise<void> => {
    await using context = await browser.newContext(options)
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(`${server.issuer}/account`)
    await signIn(page, who)
    await work(page)
    // The browser may report one failed load more than once.
    expect([...new Set(complaints)].join('\n')).toBe(expected.join('\n'))
  }

  /** What is shown is whole, and big enough for a thumb. */
  const expectFit = async (page: Page): Promise<void> => {
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0)
    const targets = 'button:visible, summary:visible, main a:visible'
    const small = await page
      .locator(targets)
      .evaluateAll((found) => found.map((one) => one.getBoundingClientRect().height).filter((height) => height < 44))
    expect(small).toEqual([])
  }

  it.each([true, false])(
    'with javaScriptEnabled: %s, ends one session and then all others',
    async (javaScriptEnabled) => {
      await signInElsewhere()
      await signInElsewhere()
      await open({ javaScriptEnabled, viewport: { width: 375, height: 740 } }, async (page) => {
        expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe('Your account')
        expect(await page.innerText('.account')).toContain('Alice Adams')
        const rows = page.locator('#sessions li')
        expect(await rows.first().innerText()).toContain('This browser')
        await expectFit(page)
        const before = await rows.count()
        await page
          .getByRole('button', { name: /^Sign out there Firefox on Windows/ })
          .first()
          .click()
        expect(await page.getByRole('status').innerText()).toBe('That browser has been signed out.')
        expect(await rows.count()).toBe(before - 1)
        await page.click('#end-others')
        await expectFit(page)
        await page.click('#end-others-confirm')
        expect(await page.getByRole('status').innerText()).toBe('You have been signed out everywhere else.')
        expect(await rows.count()).toBe(1)
        await page.click('#sign-out')
        expect(await page.getByRole('status').innerText()).toContain('You have been signed out')
        await page.click('#your-account')
        expect(await page.innerText('main')).toContain('to view your account')
      })
    },
  )

  it.each([true, false])('with javaScriptEnabled: %s, withdraws access', async (javaScriptEnabled) => {
    await new UserAgent().authorize(authorizeUrl(server.issuer, { scope: 'openid profile' }), person)
    await open({ javaScriptEnabled, viewport: { width: 375, height: 740 } }, async (page) => {
      const row = page.locator('#applications li').filter({ has: page.getByRole('heading', { name: 'web' }) })
      expect(await row.getByRole('listitem').allInnerTexts()).toEqual([
        'Know who you are',
        'See your profile, such as your name and picture',
      ])
      await row.locator('summary').click()
      await expectFit(page)
      await row.getByRole('button', { name: 'Withdraw access web' }).click()
      expect(await page.getByRole('status').innerText()).toBe('The application no longer has access.')
      expect(await page.innerText('#applications')).toContain('No application is listed with access to your account.')
    })
  })

  it.each([true, false])('with javaScriptEnabled: %s, changes the password', async (javaScriptEnabled) => {
    const next = `the next password, scripts ${String(javaScriptEnabled)}`
    const work = async (page: Page): Promise<void> => {
      await page.click('#password-open')
      await expectFit(page)
      const fields = page.locator('#password input:visible')
      expect(await fields.evaluateAll((all) => all.map((one) => one.getAttribute('autocomplete')))).toEqual([
        ...['current-password', 'new-password', 'new-password'],
      ])
      await page.fill('#current-password', 'not the password')
      await page.fill('#new-password', next)
      await page.fill('#new-password-again', next)
      await page.click('#password-change')
      expect(await page.getByRole('alert').innerText()).toBe('This is not your current password.')
      expect(await page.getAttribute('#current-password', 'aria-invalid')).toBe('true')
      expect(await fields.evaluateAll((all) => all.map((one) => (one as { value?: string }).value))).toEqual([
        '',
        '',
        '',
      ])
      await expectFit(page)
      await page.fill('#current-password', bob.password)
      await page.fill('#new-password', next)
      await page.fill('#new-password-again', next)
      await page.keyboard.press('Enter')
      expect(await page.getByRole('status').innerText()).toContain('Your password has been changed.')
      expect(await page.locator('#sessions li').count()).toBe(1)
      bob.password = next
    }
    const refused = 'Failed to load resource: the server responded with a status of 403 (Forbidden)'
    await open({ javaScriptEnabled, viewport: { width: 375, height: 740 } }, work, bob, [refused])
  })

  it('works with the keyboard alone', async () => {
    await signInElsewhere()
    await open({ viewport: { width: 1280, height: 800 } }, async (page) => {
      await expectFit(page)
      const focused = () => page.evaluate<string>('document.activeElement.textContent.trim()')
      const walk: string[] = []
      for (let step = 0; step < 5; step++) {
        await page.keyboard.press('Tab')
        walk.push(await focused())
      }
      expect(walk.slice(0, 2)).toEqual(['Sign out', 'Not you? Use another account'])
      expect(walk[2]).toMatch(/^Sign out there Firefox on Windows/)
      await page.focus('#end-others')
      await page.keyboard.press('Enter')
      await page.keyboard.press('Tab')
      expect(await focused()).toBe('Sign out everywhere else')
      await page.keyboard.press('Enter')
      await page.waitForSelector('.notice')
      expect(await page.locator('#sessions li').count()).toBe(1)
    })
  })
})
