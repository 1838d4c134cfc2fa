import { describe, expect, it } from 'vitest'
import { consentPage } from '../../core/interaction/pages/consent-page.js'
import { deviceResultPage } from '../../core/interaction/pages/device-result-page.js'
import { errorPage } from '../../core/interaction/pages/error-page.js'
import { loginPage } from '../../core/interaction/pages/login-page.js'
import { action, describePages, pages } from '../support/server/describe-pages.js'
import { onlyPassword } from '../support/server/only-password.js'

const client = { name: 'Teller' }
const nothing = { scopes: [], claims: [], resources: [] }

describePages('what pages look like', (opened) => {
  const { show } = opened

  it('a logo that does not load leaves no frame', async () => {
    const html = pages.show(loginPage, {
      ...onlyPassword(),
      action,
      csrf: 'token',
      client: { ...client, logoUri: `${opened.server.origin}/none.png` },
    })
    const { seen } = await show(html, (page) =>
      page.$eval('.client-logo img', (image) => {
        const { width, height } = image.getBoundingClientRect()
        return width * height
      }),
    )
    expect(seen).toBe(0)
  })

  it('a name that is written from right to left begins where the text above it begins', async () => {
    const html = pages.show(consentPage, { action, csrf: 'token', client, account: { name: 'محمد' }, ...nothing })
    const { seen } = await show(html, (page) =>
      page.$$eval('.account small, .account bdi', (texts) =>
        texts.map((text) => {
          // Of the letters: a block is as wide as what is around it.
          const letters = document.createRange()
          letters.selectNodeContents(text)
          return Math.round(letters.getBoundingClientRect().left)
        }),
      ),
    )
    expect(seen[1]).toBe(seen[0])
  })

  it.each([
    ['approved', '✓', 'Television'],
    ['denied', '✕', 'Television'],
    ['denied_before', '✕', undefined],
    ['used', undefined, undefined],
  ] as const)('a device that is %s has the mark %s', async (outcome, mark, name) => {
    const html = pages.show(deviceResultPage, { outcome, ...(name && { client: { name } }), startUrl: action })
    const { seen } = await show(html, async (page) => ({
      mark: await page.$$eval('.mark', ([found]) => found && getComputedStyle(found, '::before').content.slice(1, -1)),
      name: await page.$$eval('#device-client', ([found]) => found?.textContent),
    }))
    expect(seen).toEqual({ mark, name })
  })

  describe('the error page', () => {
    it.each([
      [400, 'If you keep seeing this page, give the request ID to the support team of the application.'],
      [404, 'Check the address.'],
      [
        503,
        'Try again in a moment. If you keep seeing this page, give the request ID to the support team of the application.',
      ],
    ])('says what to do once: %s', (status, advice) => {
      const html = pages.show(errorPage, { status, title: 'Error', message: 'No.', requestId: 'r-1' })
      expect(html).toContain(`<p class="fine">${advice}</p>`)
    })

    it('has room for a request ID in one line', async () => {
      const html = pages.show(errorPage, { status: 400, title: 'Error', message: 'No.', requestId: 'a0'.repeat(16) })
      const { seen } = await show(html, (page) => page.$eval('#request-id', (id) => id.getClientRects().length))
      expect(seen).toBe(1)
    })

    it('names the request', async () => {
      const html = pages.show(errorPage, {
        status: 400,
        title: 'Authorization error',
        message: 'No.',
        requestId: 'r-1',
      })
      const { seen, complaints } = await show(html, async (page) => [
        await page.getByRole('heading', { level: 1 }).innerText(),
        await page.getByRole('alert').innerText(),
        await page.locator('dd').allInnerTexts(),
      ])
      expect(seen).toEqual(['Authorization error', 'No.', ['r-1']])
      expect(complaints).toEqual([])
    })
  })
})
