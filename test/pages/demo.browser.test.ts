import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { chromium, type Browser, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findPageFaults } from '../support/server/page-faults.js'
import { describeWith } from '../support/services/describe-with.js'
import { startDemoServer, type DemoServer } from '../support/server/demo-server.js'

const verified = (alg: string) => `signature verified (${alg}, key the-key)`

describeWith('chromium', 'the demo page', (executablePath) => {
  let browser: Browser

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath })
  })

  afterAll(async () => {
    await browser.close()
  })

  describe.each([
    ['', 'ES256'],
    ['/op', 'RS256'],
    ['/a/b', 'EdDSA'],
  ])('of an issuer with the path %j and %s', (path, alg) => {
    let server: DemoServer

    beforeAll(async () => {
      server = await startDemoServer(path, alg)
    })

    afterAll(async () => {
      await server[Symbol.asyncDispose]()
    })

    const open = async (theme: (page: Page) => Promise<void>, complains: readonly string[] = []): Promise<void> => {
      await using context = await browser.newContext()
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      page.on('pageerror', (error) => complaints.push(error.message))
      await page.goto(`${server.issuer}/`)
      await page.waitForSelector('#demo-sign-in:enabled')
      await theme(page)
      expect(complaints).toEqual(complains)
    }

    const signIn = async (page: Page, decision: 'allow' | 'deny' = 'allow'): Promise<void> => {
      await page.click('#demo-sign-in')
      await page.waitForSelector('#login-submit')
      expect(await page.inputValue('#username')).toBe(server.demo.page.username)
      await page.fill('#password', server.demo.page.password)
      await page.click('#login-submit')
      await page.click(`#consent-${decision}`)
    }

    const textOf = (page: Page, id: string) => page.locator(`#${id}`).innerText()
    const status = (page: Page, text: string) =>
      page.locator('#demo-status', { hasText: text }).waitFor({ state: 'visible' })

    it('signs in, shows verified tokens and userinfo, refreshes, and forgets', async () => {
      await open(async (page) => {
        await signIn(page)
        await page.locator('#demo-result').waitFor({ state: 'visible' })
        expect(page.url()).toBe(`${server.issuer}/`)
        for (const id of ['id-token', 'access-token']) expect(await textOf(page, id)).toContain(verified(alg))
        expect(await page.locator('.checks .failed').allInnerTexts()).toEqual([])
        expect(await page.locator('.checks .passed').count()).toBe(12)
        expect(await textOf(page, 'userinfo')).toContain('Dana Q. Example')
        expect(await textOf(page, 'demo-title')).toBe('Signed in as Dana Q. Example')

        const compact = () => page.locator('#access-token .compact').textContent()
        const before = await compact()
        expect(before).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/)
        await page.click('#demo-refresh')
        await status(page, 'Refreshed')
        expect(await compact()).not.toBe(before)
        expect(await page.locator('.checks .failed').allInnerTexts()).toEqual([])

        await page.click('#demo-ask')
        await status(page, 'Userinfo answered')
        await page.click('#demo-forget')
        expect(await page.locator('#demo-result').isVisible()).toBe(false)
        expect(await textOf(page, 'demo-title')).toBe('Your OpenID Provider is running')
        expect(await page.content()).not.toContain(before)
        expect(await page.evaluate<number>('sessionStorage.length + localStorage.length')).toBe(0)
      })
    })

    if (path === '')
      it('passes axe-core, fits, and works by keyboard, before and after a sign-in', async () => {
        await open(async (page) => {
          expect(await findPageFaults(page, 'demo')).toEqual([])
          await signIn(page)
          await page.locator('#demo-result').waitFor({ state: 'visible' })
          expect(await findPageFaults(page, 'demo-signed-in')).toEqual([])
        })
      })

    it('approves a payment, which stands in the access token as it was read', async () => {
      await open(async (page) => {
        await page.click('#demo-pay')
        await page.fill('#password', server.demo.page.password)
        await page.click('#login-submit')
        await page.waitForSelector('#consent-allow')
        expect(await page.locator('main').innerText()).toMatch(
          /Make a payment[^]*12\.34 EUR[^]*Example Coffee Roasters/,
        )
        await page.click('#consent-allow')
        await page.locator('#demo-result').waitFor({ state: 'visible' })
        expect(await textOf(page, 'access-token')).toContain('"instructedAmount":{"currency":"EUR","amount":"12.34"}')
      })
    })

    it('signs out, and has to sign in again', async () => {
      await open(async (page) => {
        await signIn(page)
        await page.locator('#demo-result').waitFor({ state: 'visible' })
        await page.click('#demo-sign-out')
        await page.waitForSelector('#demo-sign-in:enabled')
        expect(page.url()).toBe(`${server.issuer}/`)
        await page.click('#demo-sign-in')
        await page.waitForSelector('#login-submit')
      })
    })

    it('shows a refusal as text', async () => {
      await open(async (page) => {
        await signIn(page, 'deny')
        await page.locator('#demo-problem').waitFor({ state: 'visible' })
        expect(await textOf(page, 'demo-problem')).toContain('access_denied')
        expect(page.url()).toBe(`${server.issuer}/`)
      })
    })

    it('refuses an answer that it did not request', async () => {
      await open(async (page) => {
        const query = new URLSearchParams({ code: 'c', state: '<img src=x onerror=alert(1)>', iss: server.issuer })
        await page.goto(`${server.issuer}/?${query}`)
        await page.locator('#demo-problem').waitFor({ state: 'visible' })
        expect(await textOf(page, 'demo-problem')).toBe('This response does not match a sign-in started in this tab.')
      })
    })

    it('registers an application, signs in with it, withdraws its access and deletes it', async () => {
      await open(
        async (page) => {
          const problem = page.locator('#register-problem')
          await page.locator('#demo-registration').waitFor({ state: 'visible' })
          const metadata = await page.inputValue('#register-metadata')
          await page.fill('#register-metadata', metadata.replace('"none"', '"client_secret_basic"'))
          await page.click('#register-start')
          await problem.waitFor({ state: 'visible' })
          expect(await problem.innerText()).toMatch(/^invalid_client_metadata: .*token_endpoint_auth_method/)

          await page.fill('#register-metadata', metadata)
          await page.click('#register-start')
          await page.locator('#registered').waitFor({ state: 'visible' })
          expect(await problem.isVisible()).toBe(false)
          const clientId = await textOf(page, 'registered-id')
          const kept = JSON.parse(
            await page.evaluate<string>("sessionStorage.getItem('signet-demo-registration')"),
          ) as {
            readonly client_id: string
            readonly registration_access_token: string
          }
          expect(kept.client_id).toBe(clientId)
          expect(await page.locator('main').innerText()).not.toContain(kept.registration_access_token)
          await page.click('#registration-reveal')
          expect(await textOf(page, 'registration-token')).toBe(kept.registration_access_token)
          await page.click('#registration-reveal')
          expect(await textOf(page, 'registration-token')).toMatch(/^•+$/)

          await page.click('#registered-sign-in')
          await page.fill('#password', server.demo.page.password)
          await page.click('#login-submit')
          await page.click('#consent-allow')
          await page.locator('#demo-result').waitFor({ state: 'visible' })
          expect(await page.locator('.checks .failed').allInnerTexts()).toEqual([])
          expect(await textOf(page, 'id-token')).toContain(clientId)
          await page.click('#demo-refresh')
          await status(page, 'Refreshed')

          await page.click('#demo-account')
          const row = page.locator('#applications li', { hasText: 'My application' }).first()
          await row.locator('summary').click()
          await row.getByRole('button', { name: 'Withdraw access My application' }).click()
          await row.waitFor({ state: 'detached' })

          await page.goto(`${server.issuer}/`)
          await page.waitForSelector('#demo-sign-in:enabled')
          await page.click('#registered-delete')
          await page.locator('#register-status', { hasText: 'Deleted' }).waitFor({ state: 'visible' })
          const answer = await fetch(`${server.issuer}/register/${clientId}`, {
            headers: { authorization: `Bearer ${kept.registration_access_token}` },
          })
          expect(answer.status).toBe(401)
          expect(await page.evaluate<number>('sessionStorage.length')).toBe(0)
          expect(await page.locator('#register').isVisible()).toBe(true)

          await page.click('#demo-sign-out-all')
          await page.click('#logout-confirm')
          await page.goto(`${server.issuer}/account`)
          await page.waitForSelector('#login-submit')
        },
        ['Failed to load resource: the server responded with a status of 400 (Bad Request)'],
      )
    })

    describeWith('curl', 'for a terminal', () => {
      it('shows a command that gets a token', async () => {
        await open(async (page) => {
          const command = await textOf(page, 'demo-curl')
          const { stdout } = await promisify(execFile)('sh', ['-c', `${command} -s`])
          expect(JSON.parse(stdout)).toMatchObject({ token_type: 'Bearer' })
        })
      })
    })
  })
})
