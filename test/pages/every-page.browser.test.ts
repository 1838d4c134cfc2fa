import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { builtIn } from '../../core/interaction/languages/built-in.js'
import { findPageFaults, findSmallTargets } from '../support/server/page-faults.js'
import { openPagesBrowser, type PagesBrowser, type ShowInTab } from '../support/server/pages-browser.js'
import { everyPage } from '../support/server/every-page.js'
import { describeWith } from '../support/services/describe-with.js'

describeWith('chromium', 'every page', (executablePath) => {
  let opened: PagesBrowser
  let show: ShowInTab
  let spoken: ReadonlyMap<string, ReadonlyMap<string, string>>
  beforeAll(async () => {
    opened = await openPagesBrowser(executablePath)
    show = await opened.openTab()
    spoken = await everyPage(opened.server.origin)
  })
  afterAll(() => opened[Symbol.asyncDispose]())

  // Each page in one of the languages, which take turns: `npm run pages` shows all of them in all.
  it('passes axe-core, fits, and works by keyboard, narrow and wide, light and dark', async () => {
    const found: Record<string, readonly string[]> = {}
    const names = [...(spoken.get('en') ?? new Map<string, string>()).keys()]
    for (const [index, name] of names.entries()) {
      const language = builtIn.languages[index % builtIn.languages.length] ?? 'en'
      const { seen, complaints } = await show(spoken.get(language)?.get(name) ?? '', async (page) => [
        ...(await findPageFaults(page, name)),
        ...(await findSmallTargets(page)),
      ])
      if (seen.length + complaints.length > 0) found[`${name} in ${language}`] = [...seen, ...complaints]
    }
    expect(names.length).toBeGreaterThan(builtIn.languages.length)
    expect(found).toEqual({})
  }, 300_000)

  it('follows the light or dark preference', async () => {
    const background = (colorScheme: 'light' | 'dark') => async (page: Page) => {
      await page.emulateMedia({ colorScheme })
      return page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    }
    const html = spoken.get('en')?.get('login') ?? ''
    expect((await show(html, background('light'))).seen).toBe('rgb(244, 242, 236)')
    expect((await show(html, background('dark'))).seen).toBe('rgb(16, 19, 26)')
  })

  it('holds no script and no style of its own', () => {
    for (const samples of spoken.values())
      for (const html of samples.values())
        expect(html).not.toMatch(/<style|style=|<script(?! (type="module" )?src=)| on\w+=/)
  })
})
