import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPages } from '../../core/interaction/pages/create-pages.js'
import { loadAssets } from '../../core/interaction/pages/load-assets.js'
import { findLanguageFaults } from '../support/server/page-faults.js'
import { openPagesBrowser, type PagesBrowser } from '../support/server/pages-browser.js'
import { samplePages } from '../support/server/sample-pages.js'
import { describeWith } from '../support/services/describe-with.js'

const pages = createPages({ assetsPath: '/assets', assets: loadAssets(), accountUrl: '/account' })

/** Which have all kinds of elements between them, and whether axe-core reads them. */
const shown = {
  'login-stranger': true,
  'consent-full': true,
  account: true,
  select: false,
  'device-confirm': false,
  error: false,
}

describeWith('chromium', 'long words and words from right to left', (executablePath) => {
  let opened: PagesBrowser
  beforeAll(async () => {
    opened = await openPagesBrowser(executablePath)
  })
  afterAll(() => opened[Symbol.asyncDispose]())

  it.each(['de', 'ar'])(
    'fit in %s, and are clean for axe-core',
    async (language) => {
      const { origin } = opened.server
      const samples = samplePages(pages.for({ uiLocales: language }), origin, `${origin}/assets/signet.svg`)
      const found: Record<string, readonly string[]> = {}
      for (const [name, withAxe] of Object.entries(shown)) {
        const look = (page: Page) => findLanguageFaults(page, `${language}-${name}`, withAxe)
        const { seen, complaints } = await opened.show(samples.get(name) ?? '', look)
        if (seen.length + complaints.length > 0) found[name] = [...seen, ...complaints]
      }
      expect(found).toEqual({})
    },
    120_000,
  )
})
