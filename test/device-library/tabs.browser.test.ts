import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Device, Enrolment } from '../../libraries/device/index.js'
import { bundle } from '../support/bundle.js'
import { decodeJws } from '../support/clients/attestation.js'
import { describeWith } from '../support/services/describe-with.js'
import { issued, reissueAfter, server, setUpServer } from './set-up.js'

/** What the page below offers to the test. */
declare const library: typeof import('../../libraries/device/index.js')
declare const device: Device

const shown = (issuer: string): string => `<!doctype html><title>device</title><script type="module">
  import * as library from '/library.js'
  let ahead = 0
  const store = library.indexedDbStore()
  const device = library.createDevice({ issuer: '${issuer}', store, clock: () => Date.now() + ahead })
  Object.assign(window, { library, device, store, ahead: (by) => { ahead = by } })
</script>`

describeWith('chromium', 'the library in tabs of one browser', (executablePath) => {
  setUpServer()
  let browser: Browser
  let script: string
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath })
    script = (await bundle('libraries/device/index.ts')).text
  })
  afterAll(() => browser.close())

  const withTabs = async (look: (open: () => Promise<Page>, context: BrowserContext) => Promise<void>) => {
    await using context = await browser.newContext()
    const complaints: string[] = []
    const html = { contentType: 'text/html', body: shown(server.issuer) }
    await context.route('**/tab', (route) => route.fulfill(html))
    await context.route('**/library.js', (route) => route.fulfill({ contentType: 'text/javascript', body: script }))
    await look(async () => {
      const page = await context.newPage()
      page.on('pageerror', (error) => complaints.push(error.message))
      await page.goto(`${server.issuer}/tab`)
      await page.waitForFunction('window.device')
      await setClock(page)
      return page
    }, context)
    expect(complaints).toEqual([])
  }
  /** The page's clock is the server's. */
  const setClock = (page: Page) => page.evaluate(`ahead(${String(server.host.now() - Date.now())})`)
  const attestation = (page: Page) => page.evaluate(() => device.attestation())
  const enrol = (page: Page, principalId: string) => {
    const principal = { subject: 'library', principalId, principalType: 'device' } as const
    const enrolment: Enrolment = { ...principal, secondFactor: { kind: 'word', value: 'right' } }
    return page.evaluate((asked) => device.enrol(asked), enrolment)
  }
  const errorCode = (page: Page) =>
    page.evaluate(() =>
      device.attestation().then(
        () => 'none',
        (error: { errorCode: string }) => error.errorCode,
      ),
    )

  it('two tabs renew one device once', () =>
    withTabs(async (open) => {
      const tabs = [await open(), await open()] as const
      await enrol(tabs[0], 'tabs-1')
      const first = await attestation(tabs[0])
      expect(await attestation(tabs[1])).toBe(first)
      server.host.later(reissueAfter * 1200)
      const several = (page: Page) =>
        page.evaluate(() => Promise.all(Array.from({ length: 5 }, () => device.attestation())))
      for (const tab of tabs) await setClock(tab)
      await Promise.all(tabs.map(several))
      await expect.poll(() => attestation(tabs[0])).not.toBe(first)
      expect(await attestation(tabs[1])).toBe(await attestation(tabs[0]))
      // Behind whatever else wanted to renew.
      for (const tab of tabs) await tab.evaluate(() => navigator.locks.request('signet-device', () => undefined))
      expect(await issued('tabs-1')).toEqual(['enrolment', 'renewal'])
    }))

  it('keeps its key over a reload, where no script can read it, and signs a request with it', () =>
    withTabs(async (open) => {
      const page = await open()
      await enrol(page, 'tabs-2')
      const first = await attestation(page)
      await page.reload()
      await page.waitForFunction('window.device')
      await setClock(page)
      expect(await attestation(page)).toBe(first)
      const [taken, sent] = await page.evaluate(async () => {
        const store = library.indexedDbStore()
        const { keys } = (await store.read()) as { keys: CryptoKeyPair }
        const outcome = await crypto.subtle.exportKey('jwk', keys.privateKey).then(
          () => 'taken',
          (error: Error) => error.name,
        )
        const request = new Request('/pay?to=bob', { method: 'POST', body: '{"amount":5}' })
        const signed = await device.sign(request, { audience: 'https://api.example' })
        return [outcome, { ...Object.fromEntries(signed.headers), body: await signed.text() }] as const
      })
      expect(taken).toBe('InvalidAccessError')
      expect(sent).toMatchObject({ 'x-attestation': first, body: '{"amount":5}' })
      const { header, payload } = decodeJws((sent as Record<string, string>)['x-signature'] ?? '')
      expect(header).toMatchObject({ alg: 'ES256', typ: 'device-signature+jwt' })
      expect(payload).toMatchObject({ mth: 'POST', pth: '/pay', aud: 'https://api.example' })
    }))

  it('one tab reports what another tab forgot or what was corrupted', () =>
    withTabs(async (open) => {
      const tabs = [await open(), await open()] as const
      await enrol(tabs[0], 'tabs-3')
      await attestation(tabs[1])
      await tabs[0].evaluate(() => device.forget())
      expect(await errorCode(tabs[1])).toBe('NotEnrolled')
      await tabs[0].evaluate(() => library.indexedDbStore().write({ attestation: 'half' } as never))
      expect(await errorCode(tabs[1])).toBe('StoreCorrupted')
      await enrol(tabs[1], 'tabs-3')
      expect(await attestation(tabs[0])).toBe(await attestation(tabs[1]))
    }))
})
