import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { selectPage, type SelectPage } from '../../core/interaction/pages/select-page.js'
import { logoutPage } from '../../core/interaction/pages/logout-page.js'
import { signedOutPage } from '../../core/interaction/pages/signed-out-page.js'
import { action, describePages, pages } from '../support/server/describe-pages.js'

describePages('the pages of several people in one browser', (opened) => {
  const longName = 'Rindfleischetikettierungsüberwachungsaufgabenübertragungsgesetz'
  const select = (more: Partial<SelectPage> = {}) =>
    pages.show(selectPage, {
      ...{ action, csrf: 'token', client: { name: 'Teller' }, otherUrl: `${action}?account=other`, cancel: true },
      accounts: [
        { id: 'a', name: 'Alice Adams', secondName: 'alice', isHinted: false },
        { id: 'b', name: longName, secondName: `${longName}@bank.example`, isHinted: false },
      ],
      ...more,
    })
  const posted = async (page: Page) => {
    await page.waitForSelector('#posted')
    return [...new URLSearchParams(opened.server.posted.at(-1)?.body)]
  }

  it.each([true, false])(
    'one is chosen, signed out or passed over by one click, with javaScriptEnabled: %s',
    async (javaScriptEnabled) => {
      for (const [button, sent] of [
        ['Alice Adams', ['account', 'a']],
        ['Sign out of Alice Adams', ['sign_out', 'a']],
        ['Cancel', ['decision', 'cancel']],
      ] as const) {
        const click = async (page: Page) => {
          await page
            .getByRole('button', { name: button, exact: button !== 'Alice Adams' })
            .first()
            .click()
          return posted(page)
        }
        const { seen, complaints } = await opened.show(select(), click, { javaScriptEnabled })
        expect(seen).toEqual([['csrf', 'token'], [...sent]])
        expect(complaints).toEqual([])
      }
    },
  )

  it('goes by keyboard from the accounts to another one, and begins at the one that the client has in mind', async () => {
    const hinted = { id: 'b', name: 'Bob', isHinted: true }
    const { seen } = await opened.show(
      select({ accounts: [hinted, { ...hinted, id: 'c', name: 'Carol', isHinted: false }] }),
      async (page) => {
        const focused: string[] = []
        for (let presses = 0; presses < 6; presses++) {
          focused.push(await page.evaluate<string>('document.activeElement.innerText.replaceAll("\\n", " ")'))
          await page.keyboard.press('Tab')
        }
        await page.keyboard.press('Shift+Tab')
        for (let presses = 0; presses < 5; presses++) await page.keyboard.press('Shift+Tab')
        await page.keyboard.press('Enter')
        return { focused, posted: await posted(page) }
      },
    )
    expect(seen.focused).toEqual([
      'B Bob',
      'Sign out of Bob',
      'C Carol',
      'Sign out of Carol',
      'Use another account',
      'Cancel',
    ])
    expect(seen.posted).toContainEqual(['account', 'b'])
  })

  it.each([375, 1280])('long names stay within the page at %i pixels', async (width) => {
    const others = { action, csrf: 'token', names: [longName, longName] }
    const account = { name: longName }
    for (const html of [
      select(),
      pages.show(logoutPage, { action, csrf: 'token', account, others: [longName], parameters: {} }),
      pages.show(signedOutPage, { others }),
    ]) {
      const { seen } = await opened.show(
        html,
        (page) => page.evaluate<number>('document.documentElement.scrollWidth'),
        {
          viewport: { width, height: 740 },
        },
      )
      expect(seen).toBeLessThanOrEqual(width)
    }
  })

  it('the sign-out pages send the session that they end', async () => {
    const account = { name: 'Alice Adams' }
    const ask = pages.show(logoutPage, { action, csrf: 'token', account, others: ['Bob'], parameters: { state: 's' } })
    const after = pages.show(signedOutPage, { others: { action, csrf: 'token', names: ['Bob'] } })
    for (const [html, button, sent] of [
      [ask, '#logout-confirm', [['state', 's']]],
      [
        ask,
        '#logout-all',
        [
          ['state', 's'],
          ['accounts', 'all'],
        ],
      ],
      [after, '#logout-all', [['accounts', 'all']]],
    ] as const) {
      const { seen } = await opened.show(html, async (page) => {
        await page.click(button)
        return posted(page)
      })
      expect(seen).toEqual([['csrf', 'token'], ...sent])
    }
  })
})
