import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { chromium, type Browser, type Page, type Route } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { describeWith } from '../support/services/describe-with.js'
import { startDemoServer, type DemoServer } from '../support/server/demo-server.js'

describeWith('chromium', 'the demo page as a device that is enrolled', (executablePath) => {
  let browser: Browser
  let server: DemoServer

  beforeAll(async () => {
    browser = await chromium.launch({ executablePath })
    server = await startDemoServer('/op', 'ES256')
  })
  afterAll(async () => {
    await browser.close()
    await server[Symbol.asyncDispose]()
  })

  const withPage = async (theme: (page: Page) => Promise<void>, width = 1280): Promise<void> => {
    await using context = await browser.newContext({ viewport: { width, height: 900 } })
    const page = await context.newPage()
    const complaints: string[] = []
    page.on('console', (message) => complaints.push(message.text()))
    page.on('pageerror', (error) => complaints.push(error.message))
    await page.goto(`${server.issuer}/`)
    await page.locator('#demo-enrolment').waitFor({ state: 'visible' })
    await theme(page)
    // Chromium reports each answer that is not 200.
    expect(complaints.filter((text) => !/status of (4\d\d|503)|ERR_FAILED/.test(text))).toEqual([])
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0)
  }

  /** What a person does with a command of the page: types it into a shell, beside the service. */
  const type = async (page: Page, id: string): Promise<string> => {
    const [npx, program, ...messages] = ((await page.locator(`#${id}`).textContent()) ?? '').split(' ')
    expect([npx, program]).toEqual(['npx', 'signet-idp'])
    const main = join(packageRoot, 'dist', 'core', 'main.js')
    return (await promisify(execFile)(process.execPath, [main, ...messages])).stdout
  }

  const newSecret = async (page: Page): Promise<string> =>
    /^secret:?\s+(\S{43})$/m.exec(await type(page, 'issue-command'))?.[1] ?? 'none was printed'

  const enrol = async (page: Page, secret: string): Promise<void> => {
    await page.fill('#enrol-secret', secret)
    await page.click('#enrol-start')
  }
  const status = (page: Page, text: string) => page.locator('#enrol-status', { hasText: text }).waitFor()
  const problem = async (page: Page): Promise<string> => {
    await page.locator('#enrol-problem').waitFor({ state: 'visible' })
    return page.locator('#enrol-problem').innerText()
  }
  const attestation = async (page: Page) => (await page.locator('#attestation .compact').textContent()) ?? ''
  const expectGood = async (page: Page): Promise<void> => {
    expect(await page.locator('#enrolled .checks .failed').allInnerTexts()).toEqual([])
    expect(await page.locator('#enrolled .checks .passed').count()).toBe(8)
  }

  it.each([1280, 375])('%i pixels wide: enrols, renews, is revoked, restored, and forgets', async (width) => {
    await withPage(async (page) => {
      const secret = await newSecret(page)
      await enrol(page, secret)
      await status(page, 'Enrolled.')
      await expectGood(page)
      const first = await attestation(page)
      const keys = createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`))
      const { payload } = await jwtVerify(first, keys, { issuer: server.issuer, typ: 'device-attestation+jwt' })
      expect(payload).toMatchObject({ did: 'demo-browser', att: { model: 'browser', status: 'active' } })
      const { jkt } = payload['cnf'] as { jkt: string }
      expect(await page.innerText('#device-key')).toContain(jkt)
      expect(await page.locator('#attestation .fold[open]').count()).toBe(width < 480 ? 0 : 2)

      // The key is still there after a reload, and stays inside.
      await page.reload()
      await page.locator('#enrolled').waitFor({ state: 'visible' })
      expect(await attestation(page)).toBe(first)
      expect(await page.evaluate<string, string>(exportKey, server.issuer)).toBe('InvalidAccessError')

      await page.click('#enrol-renew')
      await status(page, 'Renewed')
      await expectGood(page)
      const second = await attestation(page)
      expect(second).not.toBe(first)
      expect((await jwtVerify(second, keys)).payload['cnf']).toEqual({ jkt })

      expect(await page.locator('#restore').isVisible()).toBe(false)
      await type(page, 'revoke-command')
      await page.click('#enrol-renew')
      expect(await problem(page)).toMatch(/revoked.*PrincipalRevoked/)
      expect(await attestation(page)).toBe(second)
      expect(await page.locator('#restore').isVisible()).toBe(true)
      expect(await page.innerText('#attestation.past .note')).toMatch(
        /^Issued before the revocation.* accept it until .*\d/,
      )
      await type(page, 'restore-command')
      await page.click('#enrol-renew')
      await status(page, 'Renewed')
      expect(await page.locator('#restore').isVisible()).toBe(false)
      expect(await page.locator('.past, .note').count()).toBe(0)

      await page.click('#enrol-forget')
      await status(page, 'has deleted the key')
      expect(await page.locator('#enrol').isVisible()).toBe(true)
      expect(await page.content()).not.toContain(jkt)
      expect(await page.evaluate<string, string>(exportKey, server.issuer)).toBe('no key')

      await enrol(page, secret)
      expect(await problem(page)).toMatch(/wrong, already used or expired.*SecondFactorFailed/)
      await enrol(page, await newSecret(page))
      await status(page, 'Enrolled.')
      await expectGood(page)
      expect(await page.innerText('#device-key')).not.toContain(jkt)
    }, width)
  })

  it('a second browser takes the place of the first, which shows it', () =>
    withPage(async (first) => {
      await enrol(first, await newSecret(first))
      await status(first, 'Enrolled.')
      await withPage(async (second) => {
        await enrol(second, await newSecret(second))
        await status(second, 'Enrolled.')
      })
      await first.click('#enrol-renew')
      expect(await problem(first)).toMatch(/another browser was enrolled in its place/)
    }))

  it.each([
    ['InvalidChallenge', 401, /Make another secret/],
    ['AttributesDenied', 403, /^words of the provider \(AttributesDenied\)$/],
  ])('says in words: %s', (code, answer, expected) =>
    withPage(async (page) => {
      await page.route('**/enrol', (route) =>
        route.fulfill({ status: answer, json: { error_code: code, error_description: 'words of the provider' } }),
      )
      await enrol(page, 'anything')
      expect(await problem(page)).toMatch(expected)
      expect(await page.locator('#enrolled').isVisible()).toBe(false)
    }),
  )

  const unavailable = (route: Route) => route.fulfill({ status: 503, json: { error_code: 'Unavailable' } })
  const abort = (route: Route) => route.abort()

  it('completes by itself what an outage stopped: the secret is used up already', () =>
    withPage(async (page) => {
      const faults = [unavailable, abort]
      await page.route('**/enrol/complete', (route) => faults.shift()?.(route) ?? route.continue())
      const secret = await newSecret(page)
      await page.clock.install()
      await enrol(page, secret)
      for (const left of [1, 0]) {
        await expect.poll(() => faults.length).toBe(left)
        await page.clock.runFor(6000)
      }
      await status(page, 'Enrolled.')
      await expectGood(page)
    }))

  it('says when the challenge is no longer valid, and starts over with another secret', () =>
    withPage(async (page) => {
      // Done, and the answer was lost.
      const lose = async (route: Route) => {
        await route.fetch()
        await route.abort()
      }
      await page.route('**/enrol/complete', lose, { times: 1 })
      const secret = await newSecret(page)
      await page.clock.install()
      await enrol(page, secret)
      await page.waitForEvent('requestfailed')
      await page.clock.runFor(6000)
      await page.locator('#enrol-problem', { hasText: 'InvalidChallenge' }).waitFor()
      await enrol(page, await newSecret(page))
      await status(page, 'Enrolled.')
    }))

  it.each([
    ['that nobody answers', abort],
    ['that the provider is down', unavailable],
  ])('says %s, after half a minute', (_title, fault) =>
    withPage(async (page) => {
      await page.route('**/enrol', fault)
      await page.clock.install()
      await enrol(page, 'anything')
      await expect.poll(() => page.clock.runFor(6000).then(() => page.locator('#enrol-problem').isVisible())).toBe(true)
      expect(await problem(page)).toMatch(/not answered for half a minute/)
      await page.unroute('**/enrol')
      await enrol(page, await newSecret(page))
      await status(page, 'Enrolled.')
    }),
  )

  it('signs requests to a service, which tells who sent them and refuses others', () =>
    withPage(async (page) => {
      await enrol(page, await newSecret(page))
      await status(page, 'Enrolled.')
      const answer = page.locator('#payment-answer')
      const send = async (button: string, said: RegExp) => {
        await page.click(button)
        await expect.poll(() => answer.innerText()).toMatch(said)
      }
      await send('#payment-send', /accepted[\s\S]*"principalId":"demo-browser"/)
      expect(await page.innerText('#payment-request')).toMatch(/device-signature\+jwt[\s\S]*\/op\/demo\/payment/)
      await send('#payment-repeat', /refused: replay_detected/)
      await send('#payment-change', /refused: body_mismatch/)
      await send('#payment-send', /accepted/)
      await page.click('#enrol-forget')
      await status(page, 'has deleted the key')
      expect(await answer.isVisible()).toBe(false)
    }))

  it('approves in a second window what a shop asks for in the first', () =>
    withPage(async (shop) => {
      await enrol(shop, await newSecret(shop))
      await status(shop, 'Enrolled.')
      await shop.clock.install()
      const device = await shop.context().newPage()
      await device.goto(`${server.issuer}/#demo-enrolment`)
      const waiting = device.locator('#approvals-list .approval')
      const ask = async (): Promise<string> => {
        await shop.click('#demo-approval-start')
        await shop.locator('#demo-approval').waitFor({ state: 'visible' })
        const message = await shop.innerText('#demo-approval-message')
        await device.click('#approvals-ask')
        await waiting.getByText(message).waitFor()
        return message
      }
      const decide = async (button: string, said: string): Promise<void> => {
        await waiting.getByRole('button', { name: button }).click()
        await device.locator('#approvals-status', { hasText: 'Nothing waits.' }).waitFor()
        expect(await device.innerText('#enrol-status')).toBe(said)
        // Until the page asks again.
        await shop.clock.runFor(6000)
      }

      await ask()
      await decide('Deny', 'Denied.')
      await shop.locator('#demo-problem', { hasText: 'denied on the device' }).waitFor()

      const message = await ask()
      expect(await waiting.innerText()).toMatch(/Demo shop[\s\S]*12\.34[\s\S]*Example Coffee Roasters/)
      await decide('Approve', 'Approved.')
      const signed = await device.innerText('#approval-signed')
      for (const part of ['approval+jwt', message, '12.34']) expect(signed).toContain(part)
      await shop.locator('#demo-status', { hasText: 'Approved on the device' }).waitFor()
      expect(await shop.locator('#demo-result .checks .failed').allInnerTexts()).toEqual([])
      expect(await shop.innerText('#access-token')).toContain('for exactly the payment that this page asked for')
      expect(await shop.locator('#demo-sign-out').isVisible()).toBe(false)
      expect(await device.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0)
    }, 375))
})

/** Runs in the page: what comes of taking the stored private key out. */
const exportKey = (issuer: string): Promise<string> =>
  new Promise((resolve) => {
    const opening = indexedDB.open(`signet-demo ${issuer}`)
    opening.onsuccess = () => {
      const reading = opening.result.transaction('device').objectStore('device').get(`signet-demo ${issuer}`)
      reading.onsuccess = () => {
        const stored = reading.result as { keys: CryptoKeyPair } | undefined
        if (stored === undefined) return resolve('no key')
        crypto.subtle.exportKey('jwk', stored.keys.privateKey).then(
          () => resolve('taken'),
          (error: unknown) => resolve((error as DOMException).name),
        )
      }
    }
  })
