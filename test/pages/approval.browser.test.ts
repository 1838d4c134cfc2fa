import { expect, it } from 'vitest'
import { consentPage } from '../../core/interaction/pages/consent-page.js'
import { action, describePages, pages } from '../support/server/describe-pages.js'

const consent = (creditor: string) =>
  pages.show(consentPage, {
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

describePages('a payment on the consent page', (opened) => {
  it('is visible on a phone without scrolling, above all other requested access', async () => {
    const { seen, complaints } = await opened.show(consent('Merchant A & B <i>'), async (page) => ({
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
      consent('W'.repeat(200)),
      (page) => page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]),
      { viewport: { width: 320, height: 740 } },
    )
    expect(seen[0]).toBe(seen[1])
  })
})
