import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createPages } from '../../core/interaction/pages/create-pages.js'
import { loadAssets, type Asset } from '../../core/interaction/pages/load-assets.js'
import { loginPage } from '../../core/interaction/pages/login-page.js'
import { createTheme } from '../../core/interaction/pages/theme.js'
import { findPageFaults, findSmallTargets } from '../support/server/page-faults.js'
import { openPagesBrowser, type PagesBrowser } from '../support/server/pages-browser.js'
import { describeWith } from '../support/services/describe-with.js'
import { onlyPassword } from '../support/server/only-password.js'

/** A script in it would leave a mark on the page that it is opened as. */
const logo = (colour: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 240 60"><script>document.documentElement.setAttribute('data-ran', '')</script><rect width="60" height="60" rx="12" fill="${colour}"/><path d="M75 20h150v20H75z" fill="${colour}"/></svg>`

const files = new Map([
  ['logo.svg', logo('#0b5d3b')],
  ['white.svg', logo('#ffffff')],
  ['extra.css', 'h1 { text-transform: uppercase }'],
])
const { theme, faults } = createTheme(
  {
    name: 'Example Bank',
    logo: 'logo.svg',
    logo_dark: 'white.svg',
    accent: '#0b5d3b',
    stylesheet: 'extra.css',
    support_url: 'https://bank.example/help',
    footer: [
      { title: { en: 'Imprint' }, url: 'https://bank.example/imprint' },
      { title: { en: 'Privacy policy of Example Bank' }, url: 'https://bank.example/privacy' },
    ],
    clients: { shop: { name: 'Example Shop', accent: '#7a1f5c' } },
  },
  { read: (path) => Buffer.from(files.get(path) ?? ''), list: () => [] },
)

describeWith('chromium', 'a branded page', (executablePath) => {
  let opened: PagesBrowser
  let assets: ReadonlyMap<string, Asset>
  beforeAll(async () => {
    assets = new Map([...loadAssets(), ...theme.assets])
    opened = await openPagesBrowser(executablePath, assets)
  })
  afterAll(() => opened[Symbol.asyncDispose]())

  const login = (clientId: string) =>
    createPages({ assetsPath: '/assets', assets, theme }).show(loginPage, {
      ...onlyPassword(),
      action: `${opened.server.origin}/post`,
      csrf: 'token',
      client: { clientId, name: 'Teller' },
      cancel: true,
    })

  const lookOf = (page: Page) =>
    page.evaluate<Record<string, unknown>>(`(() => {
      const logo = document.querySelector('.brand .logo')
      const button = getComputedStyle(document.querySelector('#login-submit'))
      return {
        logo: logo && logo.naturalWidth > 0 && Math.round(logo.getBoundingClientRect().width),
        dark: logo && logo.currentSrc !== logo.src,
        button: button.backgroundColor,
        text: button.color,
        link: getComputedStyle(document.querySelector('footer a')).color,
        heading: getComputedStyle(document.querySelector('h1')).textTransform,
      }
    })()`)

  it('has logo, colours and stylesheet, is clean for axe-core, and fits, light and dark, narrow and wide', async () => {
    expect(faults).toEqual([])
    const light = await opened.show(login('web'), lookOf, { colorScheme: 'light' })
    expect(light).toEqual({
      seen: {
        logo: 176,
        dark: false,
        button: 'rgb(11, 93, 59)',
        text: 'rgb(255, 255, 255)',
        link: 'rgb(11, 93, 59)',
        heading: 'uppercase',
      },
      complaints: [],
    })
    const dark = await opened.show(login('web'), lookOf, { colorScheme: 'dark' })
    expect(dark.seen).toMatchObject({ logo: 176, dark: true, text: 'rgb(16, 19, 26)' })
    expect(dark.seen['button']).not.toBe(light.seen['button'])
    const { seen, complaints } = await opened.show(login('web'), async (page) => [
      ...(await findPageFaults(page, 'login-branded')),
      ...(await findSmallTargets(page)),
    ])
    expect([...seen, ...complaints]).toEqual([])
  })

  it('has the brand of the client', async () => {
    const { seen } = await opened.show(login('shop'), lookOf, { colorScheme: 'light' })
    expect(seen).toMatchObject({ logo: null, button: 'rgb(122, 31, 92)', heading: 'uppercase' })
  })

  it('PG04 runs no script of a logo that is opened as a page', async () => {
    const name = [...assets.keys()].find((one) => one.startsWith('brand-') && one.endsWith('.svg')) ?? ''
    const { seen } = await opened.show(login('web'), async (page) => {
      await page.goto(`${opened.server.origin}/assets/${name}`)
      return page.evaluate<boolean>(`document.documentElement.hasAttribute('data-ran')`)
    })
    expect(seen).toBe(false)
  })

  it('PG05 runs no script that a template has within the page', async () => {
    const text = `<% layout('@layout') -%><h1>Sign in</h1><script>document.documentElement.setAttribute('data-ran', '')</script>`
    const own = { ...theme, views: new Map([['login', text]]) }
    const html = createPages({ assetsPath: '/assets', assets, theme: own }).show(loginPage, {
      ...onlyPassword(),
      action: '/post',
      csrf: 'token',
    })
    const { seen, complaints } = await opened.show(html, (page) =>
      page.evaluate<boolean>(`document.documentElement.hasAttribute('data-ran')`),
    )
    expect(seen).toBe(false)
    expect(complaints.join()).toContain('Content Security Policy')
  })
})
