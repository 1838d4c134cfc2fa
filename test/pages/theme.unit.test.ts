import { describe, expect, it } from 'vitest'
import { contrast, formatRatio, readableOn } from '../../core/interaction/pages/contrast.js'
import { createPages } from '../../core/interaction/pages/create-pages.js'
import { loadAssets } from '../../core/interaction/pages/load-assets.js'
import { loginPage } from '../../core/interaction/pages/login-page.js'
import { checkLook, problemsOf } from '../support/server/check-look.js'
import { onlyPassword } from '../support/server/only-password.js'

const showLogin = async (ui: string, clientId?: string): Promise<string> => {
  const { theme } = await checkLook(ui)
  const pages = createPages({ assetsPath: '/assets', assets: new Map([...loadAssets(), ...theme.assets]), theme })
  const client = clientId && { client: { clientId, name: 'An application' } }
  return pages.show(loginPage, { ...onlyPassword(), action: '/post', csrf: 'c', ...client })
}

describe('contrast', () => {
  it('is that of WCAG 2.2', () => {
    expect(contrast('#000000', '#fff')).toBe(21)
    expect(contrast('#777777', '#ffffff')).toBeCloseTo(4.478, 3)
    expect(contrast('#767676', '#ffffff')).toBeCloseTo(4.542, 3)
    expect(formatRatio(4.4999)).toBe('4.49:1')
  })

  it('is reached by the nearest colour of the same hue', () => {
    const enough = readableOn('#ff9900', ['#ffffff', '#f4f2ec'], '#000000')
    expect(contrast(enough, '#f4f2ec')).toBeGreaterThanOrEqual(4.5)
    expect(contrast(enough, '#f4f2ec')).toBeLessThan(4.7)
    expect(readableOn('#0b5d3b', ['#ffffff'], '#000000')).toBe('#0b5d3b')
  })
})

describe('the section ui', () => {
  it('changes nothing where it is empty', async () => {
    const html = await showLogin('')
    expect(html).toContain('<title>Sign in · Signet</title>')
    expect(html).toMatch(
      /<header class="brand"><img src="\/assets\/signet\.svg\?v=[\w-]+" width="40" height="40" alt="">/,
    )
    expect(html.match(/rel="stylesheet"/g)).toHaveLength(1)
    expect(html).not.toContain('<footer')
  })

  it('gives the pages name, logo, icon, colours, stylesheet and links', async () => {
    const html = await showLogin(`ui:
  name: Example Bank & Sons
  logo: ./brand/logo.svg
  logo_dark: ./brand/dark.svg
  accent: "#0b5d3b"
  support_url: https://bank.example/help
  stylesheet: brand/extra.css
  footer: [{ title: { en: Imprint, de: Impressum }, url: https://bank.example/imprint }, { title: Privacy, url: http://localhost:8080/p }]`)
    expect(html).toContain('<title>Sign in · Example Bank &amp; Sons</title>')
    expect(html).toMatch(
      /<source media="\(prefers-color-scheme: dark\)" srcset="\/assets\/brand-[\w-]+\.svg\?v=[\w-]+">/,
    )
    expect(html).toMatch(/<img class="logo" src="\/assets\/brand-[\w-]+\.svg\?v=[\w-]+" alt="Example Bank &amp; Sons">/)
    expect(html).toMatch(/<link rel="icon" type="image\/svg\+xml" href="\/assets\/brand-/)
    const sheets = [...html.matchAll(/rel="stylesheet" href="\/assets\/([a-z]+)/g)].map(([, name]) => name)
    expect(sheets).toEqual(['signet', 'accent', 'brand'])
    const links = [...html.matchAll(/<a href="([^"]*)" target="_blank" rel="noopener noreferrer"><bdi>([^<]*)/g)]
    expect(links.map(([, url, title]) => [url, title])).toEqual([
      ['https://bank.example/help', 'Help'],
      ['https://bank.example/imprint', 'Imprint'],
      ['http://localhost:8080/p', 'Privacy'],
    ])
    expect(html).not.toContain('signet.svg')
  })

  it('has links for a forgotten password and a new account where people look for them', async () => {
    const html = await showLogin(`ui:
  links: { forgot_password: https://bank.example/forgot, register: https://bank.example/join }
  clients: { shop: { links: { register: https://shop.example/join } } }`)
    const linkOf = (text: string, id: string) => new RegExp(`<a id="${id}" href="([^"]*)">([^<]*)`).exec(text)?.slice(1)
    expect(linkOf(html, 'forgot-password')).toEqual(['https://bank.example/forgot', 'Forgot your password?'])
    expect(linkOf(html, 'register')).toEqual(['https://bank.example/join', 'Create an account'])
    expect(linkOf(await showLogin(''), 'register')).toBeUndefined()
  })

  it('has a name alone instead of the seal of the product', async () => {
    const html = await showLogin('ui: { name: Example Bank }')
    expect(html).toContain('<header class="brand"><span><bdi>Example Bank</bdi></span>')
  })

  it('derives a colour for dark pages, and has colours of text on buttons that can be read', async () => {
    const { theme } = await checkLook('ui: { accent: "#0b5d3b" }')
    const sheet = [...theme.assets.values()].map(({ body }) => body.toString()).join('')
    const [light = '', dark = ''] = sheet.split('@media (prefers-color-scheme: dark)')
    const valueOf = (part: string, name: string) => new RegExp(`--${name}: (#[\\da-f]{6});`).exec(part)?.[1] ?? ''
    expect(valueOf(light, 'accent')).toBe('#0b5d3b')
    expect(valueOf(light, 'link')).toBe('#0b5d3b')
    for (const part of [light, dark])
      for (const surface of ['accent', 'accent-strong'])
        expect(contrast(valueOf(part, surface), valueOf(part, 'on-accent'))).toBeGreaterThanOrEqual(4.5)
    expect(contrast(valueOf(dark, 'link'), '#191e29')).toBeGreaterThanOrEqual(4.5)
  })

  it('gives the pages of a client its own brand, and those of others the common one', async () => {
    const ui = `clients: [{ client_id: shop, client_secret: a-secret-of-more-than-256-bits-for-tests, redirect_uris: ['https://c.example'] }]
ui:
  name: Example Bank
  logo: ./brand/logo.svg
  accent: "#0b5d3b"
  support_url: https://bank.example/help
  clients: { shop: { name: The Shop, accent: "#7a1f5c", footer: [{ title: Terms, url: https://shop.example/terms }] } }`
    const shop = await showLogin(ui, 'shop')
    expect(shop).toContain('<title>Sign in · The Shop</title>')
    expect(shop).not.toContain('class="logo"')
    expect(shop).toContain('https://shop.example/terms')
    expect(shop).not.toContain('https://bank.example/help')
    const other = await showLogin(ui, 'other')
    expect(other).toContain('<title>Sign in · Example Bank</title>')
    expect(other).toContain('https://bank.example/help')
    const sheet = (html: string) => /assets\/(accent-[\w-]+)/.exec(html)?.[1]
    expect(sheet(shop)).not.toBe(sheet(other))
    expect(await showLogin(ui)).toContain('Example Bank')
    expect(await problemsOf(ui)).toEqual([])
  })
})

describe('signet check', () => {
  it.each([
    [
      'ui: { accent: "#ff9900" }',
      /^ui\.accent: has a contrast of 1\.91:1 with the background #f4f2ec of light pages; links and buttons need 4\.5:1 \(WCAG 2\.2 AA\), which #[\da-f]{6} has$/,
    ],
    [
      'ui: { accent_dark: "#0b5d3b" }',
      /^ui\.accent_dark: has a contrast of [12]\.\d\d:1 with the background #191e29 of dark pages/,
    ],
    ['ui: { clients: { shop: { accent: "#fe0" } } }', /^ui\.clients\.shop\.accent: has a contrast of 1\./],
    ['ui: { accent: green }', /^ui\.accent: must be a colour in quotes, such as "#0b5d3b"$/],
    ['ui: { name: B, logo: ./none.svg }', /^ui\.logo: the file \.\/none\.svg cannot be read: there is no such file$/],
    ['ui: { stylesheet: ./brand }', /^ui\.stylesheet: the file \.\/brand cannot be read: it is a folder$/],
    ['ui: { favicon: brand/extra.css }', /^ui\.favicon: must be a picture: \.svg, \.png, \.jpg, \.webp or \.ico$/],
    ['ui: { favicon: brand/fake.png }', /^ui\.favicon: is not what its ending says: image\/png$/],
    ['ui: { favicon: brand/logo.tiff }', /^ui\.favicon: has an ending that is not known$/],
    ['ui: { stylesheet: brand/logo.svg }', /^ui\.stylesheet: must be a stylesheet: \.css$/],
    ['ui: { stylesheet: brand/loads.css }', /^ui\.stylesheet: loads other files with @import or url\(\)/],
    ['ui: { name: B, logo: "https://bank.example/logo.svg" }', /^ui\.logo: must be the path of a file/],
    ['ui: { logo: brand/logo.svg }', /^ui\.name: is required where logo is/],
    ['ui: { name: B, logo_dark: brand/logo.svg }', /^ui\.logo: is required where logo_dark is$/],
    ['ui: { support_url: "javascript:alert(1)" }', /^ui\.support_url: must be an https URL/],
    ['ui: { support_url: http://bank.example }', /^ui\.support_url: must be an https URL/],
    ['ui: { support_url: https://a:b@bank.example }', /^ui\.support_url: must not carry credentials$/],
    ['ui: { footer: [{ title: Terms, url: "data:text/html,x" }] }', /^ui\.footer\[0\]\.url: must be an https URL/],
    ['ui: { footer: [{ url: https://bank.example }] }', /^ui\.footer\[0\]\.title: is required$/],
    ['ui: { accentt: "#0b5d3b" }', /^ui\.accentt: unknown key; did you mean `accent`\?$/],
  ])('refuses %s', async (ui, message) => {
    const more = {
      'brand/fake.png': '<html>',
      'brand/logo.tiff': 'II*',
      'brand/loads.css': '/* url(x) */ h1 { background: url("https://elsewhere.example/x.png") }',
    }
    expect(await problemsOf(ui, more)).toEqual([expect.stringMatching(message) as string])
  })

  it('warns of a look for a client that it does not know', async () => {
    expect(await problemsOf('ui: { clients: { shop: { name: The Shop } } }')).toEqual([
      expect.stringContaining('warning ui.clients.shop: no client of this file has this client_id') as string,
    ])
  })

  it('accepts a stylesheet that refers to itself, and comments', async () => {
    const more = { 'brand/extra.css': '/* @import "x" */ h1 { filter: url(#soft) }' }
    expect(await problemsOf('ui: { stylesheet: brand/extra.css }', more)).toEqual([])
  })
})
