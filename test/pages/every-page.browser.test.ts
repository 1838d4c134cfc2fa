import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPages } from '../../core/interaction/pages/create-pages.js'
import { loadAssets } from '../../core/interaction/pages/load-assets.js'
import { findPageFaults, findSmallTargets } from '../support/server/page-faults.js'
import { openPagesBrowser, type PagesBrowser } from '../support/server/pages-browser.js'
import { samplePages } from '../support/server/sample-pages.js'
import { describeWith } from '../support/services/describe-with.js'

const scopes = [{ name: 'umlaute:größe', title: { de: 'Schuhgröße ändern' }, description: { de: 'Auch für Füße.' } }]
const pages = createPages({ assetsPath: '/assets', assets: loadAssets(), accountUrl: '/account', scopes })

describeWith('chromium', 'every page', (executablePath) => {
  let opened: PagesBrowser
  let samples: ReadonlyMap<string, string>
  beforeAll(async () => {
    opened = await openPagesBrowser(executablePath)
    const { origin } = opened.server
    samples = samplePages(pages, origin, `${origin}/assets/signet.svg`)
  })
  afterAll(() => opened[Symbol.asyncDispose]())

  it('is clean for axe-core, fits, and is worked by keyboard, narrow and wide, light and dark', async () => {
    const found: Record<string, readonly string[]> = {}
    for (const [name, html] of samples) {
      const { seen, complaints } = await opened.show(html, async (page) => [
        ...(await findPageFaults(page, name)),
        ...(await findSmallTargets(page)),
      ])
      if (seen.length + complaints.length > 0) found[name] = [...seen, ...complaints]
    }
    expect(found).toEqual({})
  }, 300_000)

  it('follows the light or dark preference', async () => {
    const background = (page: Page) => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    const html = samples.get('login') ?? ''
    const light = await opened.show(html, background, { colorScheme: 'light' })
    const dark = await opened.show(html, background, { colorScheme: 'dark' })
    expect(light.seen).toBe('rgb(255, 255, 255)')
    expect(dark.seen).toBe('rgb(25, 30, 41)')
  })

  it('holds no script and no style of its own', () => {
    for (const html of samples.values())
      expect(html).not.toMatch(/<style|style=|<script(?! (type="module" )?src=)| on\w+=/)
  })
})
