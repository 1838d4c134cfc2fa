/** What a person's browser does, without one: cookies, redirects, forms. No script runs. */
export class UserAgent {
  readonly #cookies = new Map<string, { value: string; path: string }>()
  readonly #headers: Readonly<Record<string, string>>

  /** `headers` go with every request. */
  constructor(headers: Readonly<Record<string, string>> = {}) {
    this.#headers = headers
  }

  get cookies(): ReadonlyMap<string, { value: string; path: string }> {
    return this.#cookies
  }

  setCookie(name: string, value: string, path = '/'): void {
    this.#cookies.set(name, { value, path })
  }

  /** One request; redirects are the caller's. */
  async fetch(url: string | URL, init: RequestInit = {}): Promise<Response> {
    const { pathname } = new URL(url)
    const cookie = [...this.#cookies]
      .filter(([, { path }]) => pathname.startsWith(path))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ')
    const headers = new Headers({ ...this.#headers, ...Object.fromEntries(new Headers(init.headers)) })
    if (cookie !== '') headers.set('cookie', cookie)
    const response = await fetch(url, { ...init, headers, redirect: 'manual' })
    for (const line of response.headers.getSetCookie()) this.#store(line)
    return response
  }

  #store(line: string): void {
    const [pair = '', ...attributes] = line.split(';').map((part) => part.trim())
    const split = pair.indexOf('=')
    const of = (name: string) =>
      attributes.find((attribute) => attribute.toLowerCase().startsWith(`${name}=`))?.slice(name.length + 1)
    const name = pair.slice(0, split)
    if (of('max-age') === '0') this.#cookies.delete(name)
    else this.#cookies.set(name, { value: pair.slice(split + 1), path: of('path') ?? '/' })
  }

  /** Follows redirects within `origin` and stops at a page, or at the first redirect that leaves it. */
  async follow(url: string | URL, init: RequestInit = {}): Promise<{ response: Response; url: URL; left?: URL }> {
    let current = new URL(url)
    const { origin } = current
    let response = await this.fetch(current, init)
    for (let hops = 0; hops < 10; hops++) {
      const location = response.headers.get('location')
      if (location === null) return { response, url: current }
      const next = new URL(location, current)
      // The client may live on the issuer's own origin, as the demo page does; a code or an error ends the walk.
      if (next.origin !== origin || next.searchParams.has('code') || next.searchParams.has('error'))
        return { response, url: current, left: next }
      current = next
      response = await this.fetch(current)
    }
    throw new Error(`more than ten redirects, last to ${current.href}`)
  }

  async submit(url: URL, html: string, fields: Readonly<Record<string, string>>) {
    const csrf = /name="csrf"[^>]*value="([^"]+)"/.exec(html)?.[1] ?? /value="([^"]+)"[^>]*name="csrf"/.exec(html)?.[1]
    const body = new URLSearchParams({ ...(csrf !== undefined && { csrf }), ...fields })
    return this.follow(url, { method: 'POST', body })
  }

  /** From `/authorize` through whatever pages come, to the redirect back to the client. Signs in where somebody may be chosen. */
  async authorize(
    url: string | URL,
    person: { readonly username: string; readonly password: string },
    decision: 'allow' | 'deny' = 'allow',
  ): Promise<URL> {
    let at = await this.follow(url)
    for (let pages = 0; pages < 4; pages++) {
      if (at.left) return at.left
      const html = await at.response.text()
      if (html.includes('id="login-submit"')) at = await this.submit(at.url, html, { ...person })
      else if (html.includes('id="consent-allow"')) at = await this.submit(at.url, html, { decision })
      else if (html.includes('id="select-other"'))
        at = await this.follow(`${at.url.href.replace(/select$/, 'login')}?account=other`)
      else throw new Error(`no way on from ${at.url.pathname} (${at.response.status}): ${html.slice(0, 500)}`)
    }
    throw new Error('the pages do not end')
  }
}
