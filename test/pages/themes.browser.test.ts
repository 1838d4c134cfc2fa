import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadAssets } from '../../core/interaction/pages/load-assets.js'
import { createPages } from '../../core/interaction/pages/create-pages.js'
import { describeWith } from '../support/services/describe-with.js'
import { openPagesBrowser, type PagesBrowser } from '../support/server/pages-browser.js'
import { onlyPassword } from '../support/server/only-password.js'

const pages = createPages({ assetsPath: '/assets', assets: loadAssets() })
const client = { name: 'Teller' }
const nothing = { scopes: [], claims: [], resources: [] }

describeWith('chromium', 'what pages look like', (executablePath) => {
  let opened: PagesBrowser
  let show: PagesBrowser['show']
  let action: string

  beforeAll(async () => {
    opened = await openPagesBrowser(executablePath)
    show = opened.show
    action = `${opened.server.origin}/post`
  })

  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  it('a logo that does not load leaves no frame', async () => {
    const html = pages.login({
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
    const html = pages.consent({ action, csrf: 'token', client, account: { name: 'محمد' }, ...nothing })
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
    const html = pages.deviceResult({ outcome, ...(name && { client: { name } }), startUrl: action })
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
    ])('says once what to do: %s', (status, advice) => {
      const html = pages.error({ status, title: 'Error', message: 'No.', requestId: 'r-1' })
      expect(html).toContain(`<p class="fine">${advice}</p>`)
    })

    it('has room for a request ID in one line', async () => {
      const html = pages.error({ status: 400, title: 'Error', message: 'No.', requestId: 'a0'.repeat(16) })
      const { seen } = await show(html, (page) => page.$eval('#request-id', (id) => id.getClientRects().length))
      expect(seen).toBe(1)
    })

    it('names error and request and nothing else', async () => {
      const html = pages.error({
        status: 400,
        title: 'Authorization error',
        message: 'No.',
        requestId: 'r-1',
        error: 'invalid_request',
      })
      const { seen, complaints } = await show(html, async (page) => [
        await page.getByRole('heading', { level: 1 }).innerText(),
        await page.getByRole('alert').innerText(),
        await page.innerText('#error-code'),
        await page.innerText('#request-id'),
      ])
      expect(seen).toEqual(['Authorization error', 'No.', 'invalid_request', 'r-1'])
      expect(complaints).toEqual([])
    })
  })
})
