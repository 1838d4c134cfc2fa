import { afterAll, beforeAll, expect, it } from 'vitest'
import { loadAssets } from '../../core/interaction/pages/load-assets.js'
import { createPages } from '../../core/interaction/pages/create-pages.js'
import { describeWith } from '../support/services/describe-with.js'
import { openPagesBrowser, type PagesBrowser } from '../support/server/pages-browser.js'

const pages = createPages({ assetsPath: '/assets', assets: loadAssets() })

const consent = (action: string, creditor: string) =>
  pages.consent({
    ...{ action, csrf: 'token', client: { name: 'Teller' }, account: { name: 'Alice' } },
    ...{ scopes: ['openid'], claims: [], resources: [] },
    details: [
      {
        title: { en: 'Make a payment' },
        lines: [
          { label: { en: 'Amount' }, text: '12.34 EUR' },
          { label: { en: 'To' }, text: creditor },
          { label: { en: 'Account' }, text: 'DE02100100109307118603' },
        ],
      },
    ],
  })

describeWith('chromium', 'a payment on the consent page', (executablePath) => {
  let opened: PagesBrowser
  let action: string
  beforeAll(async () => {
    opened = await openPagesBrowser(executablePath)
    action = `${opened.server.origin}/post`
  })
  afterAll(() => opened[Symbol.asyncDispose]())

  it('is read at a glance on a phone, above everything else that is asked for', async () => {
    const { seen, complaints } = await opened.show(consent(action, 'Merchant A & B <i>'), async (page) => ({
      terms: await page.locator('.approval dt').allInnerTexts(),
      texts: await page.locator('.approval dd').allInnerTexts(),
      bottom: await page.$eval('.approval', (section) => section.getBoundingClientRect().bottom),
      wishes: await page.$eval('.wishes', (list) => list.getBoundingClientRect().top),
    }))
    expect(seen.terms).toEqual(['Amount', 'To', 'Account'])
    expect(seen.texts).toEqual(['12.34 EUR', 'Merchant A & B <i>', 'DE02100100109307118603'])
    expect(seen.bottom).toBeLessThan(740)
    expect(seen.wishes).toBeGreaterThan(seen.bottom)
    expect(complaints).toEqual([])
  })

  it('fits a phone of 320 pixels, however long a name is', async () => {
    const { seen } = await opened.show(
      consent(action, 'W'.repeat(200)),
      (page) => page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]),
      { viewport: { width: 320, height: 740 } },
    )
    expect(seen[0]).toBe(seen[1])
  })
})
