import type { SoftwareAuthenticator } from '../clients/software-authenticator.js'
import type { AskApi } from './operator-server.js'

/** A page that an operator's browser got. */
export interface OperatorPage {
  readonly status: number
  readonly location: string | undefined
  readonly html: string
  readonly headers: Headers
}

/** Sends what a browser sends with a page or a form of the console. */
export class OperatorBrowser {
  readonly origin: string
  readonly cookies = new Map<string, string>()

  /** `admin` is the address of the listener. Browsers have no passkeys for addresses, so they use a name. */
  constructor(admin: string) {
    this.origin = admin.replace('127.0.0.1', 'localhost')
  }

  async open(path: string, headers: Readonly<Record<string, string>> = {}): Promise<OperatorPage> {
    return this.#send(path, { headers: { 'Sec-Fetch-Site': 'none', ...headers } })
  }

  async post(
    path: string,
    fields: Readonly<Record<string, string>>,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<OperatorPage> {
    const own = { Origin: this.origin, 'Sec-Fetch-Site': 'same-origin' }
    return this.#send(path, { method: 'POST', body: new URLSearchParams(fields), headers: { ...own, ...headers } })
  }

  async #send(path: string, init: RequestInit): Promise<OperatorPage> {
    const cookie = [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { Accept: 'text/html', 'Accept-Language': 'en', ...(cookie && { Cookie: cookie }), ...init.headers }
    const reply = await fetch(path.startsWith('http') ? path : `${this.origin}${path}`, {
      ...init,
      headers,
      redirect: 'manual',
    })
    for (const set of reply.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(set) ?? []
      if (value === '') this.cookies.delete(name)
      else this.cookies.set(name, value)
    }
    const location = reply.headers.get('location') ?? undefined
    return { status: reply.status, location, html: await reply.text(), headers: reply.headers }
  }

  /** Uses a one-time link, which somebody with these powers makes. */
  async useLink(ask: AskApi, name: string): Promise<OperatorPage> {
    const made = await ask(`/operators/${name}/links`, { method: 'POST' })
    if (made.status !== 201) throw new Error(JSON.stringify(made.body))
    return this.post(made.body.path, {})
  }

  /** Registers a passkey on the page of credentials. */
  async addPasskey(authenticator: SoftwareAuthenticator, name = 'Key'): Promise<OperatorPage> {
    const { html } = await this.open('/console/credentials')
    const options = optionsOf(html)
    return this.post('/console/credentials', {
      ...{ csrf: fieldOf(html, 'csrf'), challenge: String(options['challenge']), name },
      answer: authenticator.register(options),
    })
  }

  async signIn(authenticator: SoftwareAuthenticator): Promise<OperatorPage> {
    const { html } = await this.open('/console/sign-in')
    const options = optionsOf(html)
    const answer = authenticator.signIn(options)
    return this.post('/console/sign-in/passkey', { challenge: String(options['challenge']), answer })
  }

  /** The value that its session's forms send. */
  async csrf(): Promise<string> {
    return fieldOf((await this.open('/console/credentials')).html, 'csrf')
  }
}

const unescape = (text: string): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')

/** The request of a page to an authenticator. */
export const optionsOf = (html: string): Record<string, unknown> => {
  const [, options] = /data-options="([^"]+)"/.exec(html) ?? []
  if (options === undefined) throw new Error(`no options in ${html}`)
  return JSON.parse(unescape(options)) as Record<string, unknown>
}

export const fieldOf = (html: string, name: string): string => {
  const [, value] = new RegExp(`name="${name}" value="([^"]*)"`).exec(html) ?? []
  if (value === undefined) throw new Error(`no field ${name} in ${html}`)
  return unescape(value)
}
