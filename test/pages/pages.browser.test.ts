import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { loadAssets } from '../../core/interaction/pages/load-assets.js'
import { createPages } from '../../core/interaction/pages/create-pages.js'
import { deviceConfirmPage } from '../../core/interaction/pages/device-confirm-page.js'
import { accountPage } from '../../core/interaction/pages/account-view.js'
import { consentPage } from '../../core/interaction/pages/consent-page.js'
import { formPostPage } from '../../core/interaction/pages/form-post-page.js'
import { loginPage } from '../../core/interaction/pages/login-page.js'
import { action, describePages, pages } from '../support/server/describe-pages.js'
import { onlyPassword } from '../support/server/only-password.js'

const client = { name: 'Teller', policyUri: 'https://teller.example/privacy', tosUri: 'http://teller.example/terms' }
const account = { name: 'Alice Adams' }
const nothing = { scopes: [], claims: [], resources: [] }

describePages('the pages in a browser', (opened) => {
  const { show } = opened

  const submit = async (page: Page, button: string): Promise<[string, string][]> => {
    await page.click(button)
    await page.waitForSelector('#posted')
    return [...new URLSearchParams(opened.server.posted.at(-1)?.body)]
  }

  describe.each([true, false])('with javaScriptEnabled: %s', (javaScriptEnabled) => {
    it('signs in by a plain form whose first field has the focus', async () => {
      const html = pages.show(loginPage, { ...onlyPassword(), action, csrf: 'token', client })
      const { seen, complaints } = await show(
        html,
        async (page) => {
          await expect(page.getByRole('heading', { level: 1 }).innerText()).resolves.toBe('Sign in')
          expect(await page.locator('#username:focus').count()).toBe(1)
          await page.keyboard.type('alice')
          await page.getByLabel('Password', { exact: true }).fill('correct horse')
          return await submit(page, '#login-submit')
        },
        { javaScriptEnabled },
      )
      expect(seen).toEqual([
        ['csrf', 'token'],
        ['username', 'alice'],
        ['password', 'correct horse'],
      ])
      expect(complaints).toEqual([])
    })

    it('cancels without username and password', async () => {
      const html = pages.show(loginPage, { ...onlyPassword(), action, csrf: 'token', client, cancel: true })
      const { seen } = await show(html, (page) => submit(page, '#login-cancel'), { javaScriptEnabled })
      expect(new Map(seen).get('decision')).toBe('cancel')
    })

    it.each(['allow', 'deny'])('sends the decision %s', async (decision) => {
      const html = pages.show(consentPage, { action, csrf: 'token', client, account, ...nothing, scopes: ['openid'] })
      const { seen, complaints } = await show(
        html,
        async (page) => {
          await expect(page.getByRole('heading', { level: 1 }).innerText()).resolves.toBe('Allow access')
          return await submit(page, `#consent-${decision}`)
        },
        { javaScriptEnabled },
      )
      expect(seen).toEqual([
        ['csrf', 'token'],
        ['decision', decision],
      ])
      expect(complaints).toEqual([])
    })

    it('posts the parameters to the client, by script or by the button', async () => {
      const state = `"><script>alert(1)</script>&'\u2028%0d%0a`
      const html = pages.show(formPostPage, {
        action: `${action}?a=b&c=d`,
        parameters: { code: 'the code', state, iss: 'https://op' },
      })
      const { seen, complaints } = await show(
        html,
        async (page) => {
          if (!javaScriptEnabled) return await submit(page, '#form-post-continue')
          await page.waitForSelector('#posted')
          return [...new URLSearchParams(opened.server.posted.at(-1)?.body)]
        },
        { javaScriptEnabled },
      )
      expect(seen).toEqual([
        ['code', 'the code'],
        ['state', state],
        ['iss', 'https://op'],
      ])
      expect(opened.server.posted).toHaveLength(1)
      expect(complaints).toEqual([])
    })
  })

  describe('the login page', () => {
    const wrong = () =>
      pages.show(loginPage, { ...onlyPassword({ problem: 'wrong' }), action, csrf: 'token', client, username: 'alice' })

    it('tells browsers and password stores what its fields are', async () => {
      const { seen } = await show(wrong(), (page) =>
        page.$$eval('#username, #password', (fields) =>
          fields.map((field) => [field.getAttribute('autocomplete'), field.getAttribute('type')]),
        ),
      )
      expect(seen).toEqual([
        ['username', 'text'],
        ['current-password', 'password'],
      ])
    })

    it('says what is wrong, keeps the username, and focuses the password', async () => {
      const { seen } = await show(wrong(), async (page) => ({
        alert: await page.getByRole('alert').innerText(),
        live: await page.locator('[aria-live] #problem').count(),
        described: await page.locator('#password[aria-describedby=problem]:focus').count(),
        username: await page.inputValue('#username'),
        password: await page.inputValue('#password'),
      }))
      expect(seen).toEqual({
        alert: 'Incorrect username or password.',
        live: 1,
        described: 1,
        username: 'alice',
        password: '',
      })
    })

    it('shows the password on demand, and sends it as one all the same', async () => {
      const html = pages.show(loginPage, { ...onlyPassword(), action, csrf: 'token', client, username: 'alice' })
      const type = (page: Page) => page.getAttribute('#password', 'type')
      const { seen, complaints } = await show(html, async (page) => {
        await page.fill('#password', 'correct horse')
        const reveal = page.getByRole('button', { name: 'Show password' })
        await reveal.click()
        const shown = [await type(page), await reveal.getAttribute('aria-pressed')]
        await reveal.click()
        const hidden = [await type(page), await reveal.getAttribute('aria-pressed')]
        await reveal.click()
        const sentAs = page.evaluate<string>(
          `new Promise((sent) => document.forms[0].addEventListener('submit', () => sent(document.getElementById('password').type)))`,
        )
        const [sent, form] = await Promise.all([sentAs, submit(page, '#login-submit')])
        return { shown, hidden, sent, password: new Map(form).get('password') }
      })
      expect(seen).toEqual({
        shown: ['text', 'true'],
        hidden: ['password', 'false'],
        sent: 'password',
        password: 'correct horse',
      })
      expect(complaints).toEqual([])
    })

    it('shows each new password at /account by an eye of its own, and sends none as text', async () => {
      const form = { url: action, csrf: 'token' }
      const html = pages.show(accountPage, {
        ...{ account: { name: 'Alice Adams' }, url: action, isPart: true, signOut: form },
        sections: [{ view: 'password', form, isFixed: false, username: 'alice', problem: { kind: 'different' } }],
      })
      const ids = ['current-password', 'new-password', 'new-password-again']
      const ask = `[...document.querySelectorAll('.revealed input')].map(({ type }) => type)`
      const types = (page: Page) => page.evaluate<string[]>(ask)
      const { seen, complaints } = await show(html, async (page) => {
        for (const id of ids) await page.fill(`#${id}`, 'correct horse')
        await page.getByRole('button', { name: 'Show password New password', exact: true }).click()
        const shown = await types(page)
        await page.getByRole('button', { name: 'Show password Current password' }).click()
        const names = await page.getByRole('button', { name: 'Show password' }).count()
        const sentAs = page.evaluate<string[]>(
          `new Promise((sent) => document.querySelector('form.fields').addEventListener('submit', () => sent(${ask})))`,
        )
        const [sent] = await Promise.all([sentAs, submit(page, '#password-change')])
        return { shown, names, sent }
      })
      expect(seen).toEqual({
        shown: ['password', 'text', 'password'],
        names: 3,
        sent: ['password', 'password', 'password'],
      })
      expect(complaints).toEqual([])
      const without = await show(html, (page) => page.locator('button.eye:visible').count(), {
        javaScriptEnabled: false,
      })
      expect(without.seen).toBe(0)
    })

    it('offers nothing of that without a script', async () => {
      const html = pages.show(loginPage, { ...onlyPassword(), action, csrf: 'token', client })
      const { seen } = await show(html, (page) => page.isVisible('#password-reveal'), { javaScriptEnabled: false })
      expect(seen).toBe(false)
    })

    it.each([
      [1, 'a moment'],
      [30, '30 seconds'],
      [899.5, '15 minutes'],
    ])('says how long %s seconds are', (retryAfterSeconds, text) => {
      expect(
        pages.show(loginPage, { ...onlyPassword({ problem: 'locked', retryAfterSeconds }), action, csrf: 'c', client }),
      ).toContain(`Too many attempts. Try again in ${text}.`)
    })
  })

  describe('the consent page', () => {
    it('says in plain words what standard scopes and claims are, and names the others', async () => {
      const html = pages.show(consentPage, {
        action,
        csrf: 'token',
        client,
        account,
        scopes: ['openid', 'email', 'offline_access', 'payments:initiate'],
        claims: ['birthdate', 'shoe_size'],
        resources: ['https://api.bank.example'],
      })
      const { seen } = await show(html, async (page) => ({
        wishes: await page.locator('.wishes li').allInnerTexts(),
        account: await page.innerText('#consent-account'),
        links: await page.$$eval('.links a', (links) =>
          links.map((link) => [link.textContent, link.getAttribute('href')]),
        ),
      }))
      expect(seen.wishes).toEqual([
        'Know who you are',
        'See your email address',
        'Keep this access while you are away',
        'Use the permission payments:initiate',
        'See your date of birth',
        'See the detail shoe_size',
        'Use this access at https://api.bank.example',
      ])
      expect(seen.account).toBe('Alice Adams')
      expect(seen.links).toEqual([
        ['Privacy policy', 'https://teller.example/privacy'],
        ['Terms of service', 'http://teller.example/terms'],
      ])
    })
  })

  it('a scope has the words of the configuration, in the language of the page or the first that there is', async () => {
    const scopes = [
      {
        name: 'payments:initiate',
        title: { de: 'Zahlen', en: 'Pay for you' },
        description: { en: 'Up to <b>100 €</b>.' },
      },
      { name: 'roles', title: { ar: 'أدوارك', de: 'Rollen' } },
      { name: 'email', description: { en: 'Your mailbox at the bank.' } },
    ]
    const worded = createPages({ assetsPath: '/assets', assets: loadAssets(), scopes })
    const asked = ['openid', 'payments:initiate', 'roles', 'email', 'read']
    const shared = { action, csrf: 'token', client, account, scopes: asked, resources: [] }
    const place = { address: '198.51.100.1', here: false }
    for (const html of [
      worded.show(consentPage, { ...shared, claims: [] }),
      worded.show(deviceConfirmPage, { ...shared, userCode: 'BCDF-GHJK', place }),
    ]) {
      const { seen, complaints } = await show(html, (page) => page.locator('.wishes li').allInnerTexts())
      expect(seen).toEqual([
        'Know who you are',
        'Pay for you\nUp to <b>100 €</b>.',
        'أدوارك',
        'See your email address\nYour mailbox at the bank.',
        'Use the permission read',
      ])
      expect(complaints).toEqual([])
    }
  })
})
