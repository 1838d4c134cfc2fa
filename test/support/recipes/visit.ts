import type { UserAgent } from '../clients/user-agent.js'

/** Where a browser arrived. */
export interface Visited {
  readonly url: URL
  readonly status: number
  readonly text: string
  /** Where it was on the way, without queries: `http://localhost:3000/authorize`. */
  readonly way: readonly string[]
}

export interface Person {
  readonly username: string
  readonly password: string
  /** What the person answers on the consent page; default: `allow`. */
  readonly decision?: 'allow' | 'deny'
}

/**
 * Opens a page as a browser does: through redirects of the application and of Signet, and through Signet's pages for
 * sign-in and consent, to a page of the application.
 */
export const visit = async (browser: UserAgent, start: string | URL, person?: Person): Promise<Visited> => {
  const way: string[] = []
  let url = new URL(start)
  let response = await browser.fetch(url)
  for (let steps = 0; steps < 20; steps++) {
    way.push(`${url.origin}${url.pathname}`)
    const location = response.headers.get('location')
    if (location !== null) {
      await response.body?.cancel()
      url = new URL(location, url)
      response = await browser.fetch(url)
      continue
    }
    const text = await response.text()
    const fields = person === undefined ? undefined : fieldsOf(text, person)
    if (fields === undefined) return { url, status: response.status, text, way }
    const [, csrf = ''] =
      /name="csrf"[^>]*value="([^"]+)"/.exec(text) ?? /value="([^"]+)"[^>]*name="csrf"/.exec(text) ?? []
    response = await browser.fetch(url, { method: 'POST', body: new URLSearchParams({ csrf, ...fields }) })
  }
  throw new Error(`The way does not end: ${way.join(' ')}`)
}

const fieldsOf = (html: string, { decision = 'allow', ...credentials }: Person) => {
  if (html.includes('id="login-submit"')) return credentials
  return html.includes('id="consent-allow"') ? { decision } : undefined
}
