import { beforeAll, describe, expect, it } from 'vitest'
import { loadPages } from '../../core/host/load-pages.js'
import { consentPage } from '../../core/interaction/pages/consent-page.js'
import { action, describePages, pages } from '../support/server/describe-pages.js'
import type { ShowInTab } from '../support/server/pages-browser.js'
import { kindSamples } from '../support/server/kind-samples.js'

const kinds = await loadPages()
const account = { name: 'Alice Adams' }
const nothing = { scopes: [], claims: [], resources: [] }

describePages('untrusted text on the pages', (opened) => {
  let show: ShowInTab
  beforeAll(async () => {
    show = await opened.openTab()
  })

  describe('text from outside', () => {
    const attacks = [
      '<script>window.hit = 1</script>',
      '"><img src=x onerror="window.hit=1">',
      `' autofocus onfocus='window.hit=1`,
      '</title><svg onload=window.hit=1>',
      '<%= 1 %> {{1}}',
    ]

    /** Samples in which nothing from outside is to be read. */
    const silent = new Set(['login sample own page', 'form-post sample', 'form-post sample own page', 'home sample'])

    it.each(attacks)('is text: %s', async (text) => {
      for (const [name, html] of kindSamples(kinds, pages, { text, origin: opened.server.origin, logo: '' })) {
        const { seen, complaints } = await show(html, async (page) => ({
          hit: await page.evaluate<unknown>('window.hit'),
          elements: await page
            .locator(
              'script:not([src^="/assets/"]), img:not([src^="/assets/"]), body svg:not(.icon), [onerror], [onfocus]',
            )
            .count(),
          text: await page.locator('main').innerText(),
        }))
        expect(seen.hit, name).toBeUndefined()
        expect(seen.elements, name).toBe(0)
        if (!silent.has(name)) expect(seen.text, name).toContain(text)
        expect(complaints, name).toEqual([])
      }
    })

    it.each([
      'javascript:alert(1)',
      'JAVASCRIPT:alert(1)',
      ' \tjava\nscript:alert(1)',
      'data:text/html,x',
      'file:///x',
      '//x',
    ])('is no link and no picture: %s', async (uri) => {
      const hostile = { name: 'Teller', logoUri: uri, clientUri: uri, policyUri: uri, tosUri: uri }
      const html = pages.show(consentPage, { action, csrf: 'c', client: hostile, account, ...nothing })
      const { seen } = await show(html, (page) => page.locator('main a, main img').count())
      expect(seen).toBe(0)
    })
  })
})
