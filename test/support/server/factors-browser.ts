import { chromium, type BrowserContextOptions, type Page } from 'playwright-core'
import { decodeQR } from 'qr/decode.js'
import { passkeyAuthenticator, withFactors } from './passkey-server.js'
import { startServer, type TestServer } from './server.js'

/** Somebody at a browser of their own. */
export interface Visitor extends AsyncDisposable {
  readonly page: Page
  signIn(person: { readonly username: string; readonly password: string }): Promise<void>
  /** Nobody is signed in here any more, and nothing is remembered. */
  forget(): Promise<void>
  /** Resolves when the page has asked for a passkey among the suggestions: a touch from now on is not for that. */
  untilSuggested(): Promise<unknown>
  /** Throws when the page is wider than a phone or a screen. */
  checkFit(): Promise<void>
  /** What scripts threw. */
  readonly complaints: readonly string[]
}

/** A device with passkeys, whose person is there or not. */
export interface Authenticator {
  touch(isThere: boolean): Promise<unknown>
  credentials(): Promise<readonly { readonly rpId?: string; readonly isResidentCredential: boolean }[]>
  unplug(): Promise<unknown>
}

export interface FactorsBrowser extends AsyncDisposable {
  readonly server: TestServer
  open(context?: BrowserContextOptions): Promise<Visitor>
  plug(visitor: Visitor, more?: { readonly transport?: 'usb' }): Promise<Authenticator>
}

const noteAsking = `{
  const { credentials } = navigator
  const get = credentials?.get.bind(credentials)
  if (get) credentials.get = (options) => {
    const answer = get(options)
    document.documentElement.dataset.asked = options.mediation
    return answer
  }
}`

/** Chromium beside a server where people have second factors. */
export const openFactorsBrowser = async (executablePath: string, clock = Date.now): Promise<FactorsBrowser> => {
  const server = await startServer({ configure: withFactors, clock })
  const browser = await chromium.launch({ executablePath })
  return {
    server,
    async open(options = {}) {
      const context = await browser.newContext({ locale: 'en-GB', ...options })
      await context.addInitScript(noteAsking)
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('pageerror', (error) => complaints.push(error.message))
      return {
        page,
        complaints,
        async signIn({ username, password }) {
          await page.fill('#username', username)
          await page.fill('#password', password)
          await page.click('#login-submit')
        },
        untilSuggested: () => page.waitForSelector('html[data-asked=conditional]'),
        forget: () => context.clearCookies(),
        async checkFit() {
          for (const width of [375, 1280]) {
            await page.setViewportSize({ width, height: 800 })
            const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
            if (over !== 0) throw new Error(`${page.url()} is ${over} pixels too wide at ${width}`)
          }
        },
        [Symbol.asyncDispose]: () => context.close(),
      }
    },
    async plug({ page }, more = {}) {
      const protocol = await page.context().newCDPSession(page)
      await protocol.send('WebAuthn.enable')
      const options = { ...passkeyAuthenticator, ...more }
      const { authenticatorId } = await protocol.send('WebAuthn.addVirtualAuthenticator', { options })
      return {
        touch: (enabled) => protocol.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
        credentials: async () => (await protocol.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
        unplug: () => protocol.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId }),
      }
    },
    async [Symbol.asyncDispose]() {
      await browser.close()
      await server[Symbol.asyncDispose]()
    },
  }
}

/** What a camera reads of the QR code on a page. */
export const scanQr = async (page: Page): Promise<string> => {
  const size = Number((await page.getAttribute('.qr', 'viewBox'))?.split(' ')[3])
  const scale = 4
  const width = size * scale
  const data = new Uint8Array(width * width * 4).fill(255)
  for (const [, x, y] of ((await page.getAttribute('.qr path', 'd')) ?? '').matchAll(/M(\d+) (\d+)h1v1h-1z/g))
    for (let row = Number(y) * scale; row < (Number(y) + 1) * scale; row++)
      for (let column = Number(x) * scale; column < (Number(x) + 1) * scale; column++)
        data.fill(0, (row * width + column) * 4, (row * width + column) * 4 + 3)
  return decodeQR({ width, height: width, data })
}
