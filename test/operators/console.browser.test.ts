import { chromium, type Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findPageFaults } from '../support/server/page-faults.js'
import { openConsoleVisit, type ConsoleVisit } from '../support/server/console-visit.js'
import { describeWith } from '../support/services/describe-with.js'

/** Every page, on records that have something to show. */
const pages = [
  ...[
    '',
    '/keys',
    '/signers',
    '/clients',
    '/clients/new',
    '/clients/shop',
    '/clients/shop/edit',
    '/clients/shop/delete',
  ],
  ...['/clients/shop/secret', '/people', '/people/new', '/people/{sub}', '/people/{sub}/edit', '/people/{sub}/end'],
  ...['/people/{sub}/recover', '/devices', '/registrations', '/registrations/new', '/audit', '/audit?event=changes'],
  ...[
    '/audit/verification',
    '/configuration',
    '/operators',
    '/operators/new',
    '/operators/olga',
    '/operators/olga/edit',
  ],
  ...['/operators/olga/link', '/operators/tokens/new', '/approvals', '/credentials', '/nothing'],
]

describeWith('chromium', 'every page of the console', (executablePath) => {
  let browser: Browser
  let visit: ConsoleVisit
  beforeAll(async () => {
    browser = await chromium.launch({ executablePath })
    visit = await openConsoleVisit(browser)
  })
  afterAll(async () => {
    await visit[Symbol.asyncDispose]()
    await browser.close()
  })

  describe.each(['en-GB', 'ar'])('in %s', (locale) => {
    it.each(pages)('passes axe-core, fits, and works by keyboard: %s', async (path) => {
      const { faults, complaints } = await visit.open(path, locale, (page) =>
        findPageFaults(page, `console${path.replaceAll(/\W+/g, '-')}-${locale}`),
      )
      expect(faults).toEqual([])
      // A page that does not exist says so, and browsers report that.
      expect(complaints.filter((text) => !text.includes('404'))).toEqual([])
    })
  })

  it('works without scripts', async () => {
    const texts = await visit.open('/clients', 'en-GB', (page) => page.locator('main').innerText(), { scripts: false })
    expect(texts.faults).toContain('Shop')
  })

  it('draws the figures', async () => {
    const drawn = await visit.open('', 'en-GB', async (page) => {
      await page.waitForSelector('.uplot canvas')
      return page.locator('.uplot canvas').count()
    })
    expect(drawn).toEqual({ faults: 2, complaints: [] })
  })
})
