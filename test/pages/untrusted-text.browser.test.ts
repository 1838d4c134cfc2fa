import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { loadAssets } from '../../core/interaction/pages/load-assets.js'
import { createPages } from '../../core/interaction/pages/create-pages.js'
import { describeWith } from '../support/services/describe-with.js'
import { openPagesBrowser, type PagesBrowser, type ShowInTab } from '../support/server/pages-browser.js'
import { onlyPassword } from '../support/server/only-password.js'

const pages = createPages({ assetsPath: '/assets', assets: loadAssets() })
const account = { name: 'Alice Adams' }
const nothing = { scopes: [], claims: [], resources: [] }

describeWith('chromium', 'untrusted text on the pages', (executablePath) => {
  let opened: PagesBrowser
  let show: ShowInTab
  let action: string

  beforeAll(async () => {
    opened = await openPagesBrowser(executablePath)
    show = await opened.openTab()
    action = `${opened.server.origin}/post`
  })

  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  describe('text from outside', () => {
    const attacks = [
      '<script>window.hit = 1</script>',
      '"><img src=x onerror="window.hit=1">',
      `' autofocus onfocus='window.hit=1`,
      '</title><svg onload=window.hit=1>',
      '<%= 1 %> {{1}}',
    ]

    const everyPage = (text: string): string[] => [
      pages.login({
        ...onlyPassword({ problem: 'wrong' }),
        action,
        csrf: text,
        client: { name: text },
        username: text,
        cancel: true,
      }),
      pages.select({
        action,
        csrf: text,
        client: { name: text },
        accounts: [{ id: text, name: text, secondName: text, isHinted: true }],
        otherUrl: action,
        cancel: true,
      }),
      pages.logout({
        ...{ action, csrf: text, client: { name: text }, account: { name: text }, others: [text] },
        parameters: { state: text },
      }),
      pages.signedOut({ client: { name: text }, others: { action, csrf: text, names: [text] } }),
      pages.leaving({
        client: { name: text, isUnchecked: true, returnsTo: text },
        url: text,
        parameters: { [text]: text },
      }),
      pages.consent({
        action,
        csrf: text,
        client: { name: text, logoUri: text, policyUri: text, tosUri: text, isUnchecked: true, returnsTo: text },
        account: { name: text },
        scopes: [text],
        claims: [text],
        resources: [text],
      }),
      pages.device({ action, csrf: text, account: { name: text }, userCode: text, problem: 'wrong' }),
      pages.deviceConfirm({
        action,
        csrf: text,
        client: { name: text, logoUri: text, policyUri: text, tosUri: text, isUnchecked: true, returnsTo: text },
        account: { name: text },
        userCode: text,
        scopes: [text],
        resources: [text],
        place: { address: text, here: false },
      }),
      pages.account({
        account: { name: text },
        url: action,
        isPart: false,
        signOut: { url: action, csrf: text },
        sections: [
          {
            view: 'sessions',
            form: { url: action, csrf: text },
            sessions: [{ sid: text, seen: { browser: text, system: text }, since: 0, here: false }],
          },
          {
            view: 'devices',
            form: { url: action, csrf: text },
            devices: [{ id: text, name: text, type: 'device', since: 0, renewedAt: 0 }],
            attestationTtlSeconds: 60,
          },
          {
            view: 'password',
            form: { url: action, csrf: text },
            isFixed: false,
            username: text,
            problem: { kind: 'unacceptable', fault: text },
          },
          {
            view: 'applications',
            form: { url: action, csrf: text },
            applications: [
              {
                clientId: text,
                client: { name: text, logoUri: text },
                scopes: [text],
                claims: [text],
                resources: [text],
                details: [{ title: { en: text }, lines: [{ label: { en: text }, text }] }],
                moreDetails: 1,
                returns: true,
              },
            ],
          },
        ],
      }),
      pages.deviceResult({ outcome: 'approved', client: { name: text }, startUrl: action }),
      pages.error({ status: 400, title: 'Authorization error', message: text, requestId: text, error: text }),
    ]

    it.each(attacks)('is text: %s', async (text) => {
      for (const html of everyPage(text)) {
        const { seen, complaints } = await show(html, async (page) => ({
          hit: await page.evaluate<unknown>('window.hit'),
          elements: await page
            .locator(
              'script:not([src^="/assets/"]), img:not([src^="/assets/"]), body svg:not(.icon), [onerror], [onfocus]',
            )
            .count(),
          text: await page.locator('main').innerText(),
        }))
        expect(seen.hit).toBeUndefined()
        expect(seen.elements).toBe(0)
        expect(seen.text).toContain(text)
        expect(complaints).toEqual([])
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
      const html = pages.consent({ action, csrf: 'c', client: hostile, account, ...nothing })
      const { seen } = await show(html, (page) => page.locator('main a, main img').count())
      expect(seen).toBe(0)
    })
  })
})
