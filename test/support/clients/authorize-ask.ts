import { expect } from 'vitest'
import type { UserAgent } from './user-agent.js'
import { callback, type Provider } from '../server/authorize-provider.js'

export type Sent = Parameters<Provider['url']>[0]

/** Asks `/authorize` as one browser, without following the answer, and says what it must be. */
export const asking = (provider: Provider, agent: UserAgent) => {
  /** GET and POST alike. */
  const ask = async (sent: Sent, method: 'GET' | 'POST' = 'GET'): Promise<Response> => {
    const url = new URL(provider.url(sent))
    return method === 'GET'
      ? agent.fetch(url)
      : agent.fetch(`${provider.issuer}/authorize`, { method, body: url.searchParams })
  }

  const answerOf = (response: Response): URL => {
    const location = response.headers.get('location')
    if (location === null) throw new Error(`no redirect but ${response.status}`)
    return new URL(location)
  }

  const expectGood = async (): Promise<void> => {
    const answer = answerOf(await ask({}))
    expect(answer.href.startsWith(`${callback}?code=`)).toBe(true)
    expect(answer.searchParams.get('state')).toBe('st4te')
    expect(answer.searchParams.get('iss')).toBe(provider.issuer)
  }

  /** `P400`: a page and no redirect. */
  const expectPage = async (sent: Sent, method: 'GET' | 'POST' = 'GET'): Promise<string> => {
    const response = await ask(sent, method)
    const html = await response.text()
    expect(response.status).toBe(400)
    expect(response.headers.get('location')).toBeNull()
    expect(response.headers.get('content-type')).toContain('text/html')
    expect(response.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    expect(html).toContain('Authorization error')
    return html
  }

  /** `R error`: a redirect to the validated URI with `error`, `state` and `iss`. */
  const expectRefusal = async (sent: Sent, error: string, method: 'GET' | 'POST' = 'GET'): Promise<URL> => {
    const codes = provider.stores.codes.puts.length
    const response = await ask(sent, method)
    expect(response.status).toBe(303)
    const answer = answerOf(response)
    expect(answer.origin + answer.pathname).toBe(callback)
    expect(answer.hash).toBe('')
    expect(answer.searchParams.get('error')).toBe(error)
    expect(answer.searchParams.get('iss')).toBe(provider.issuer)
    expect(answer.searchParams.has('code')).toBe(false)
    expect(provider.stores.codes.puts.length).toBe(codes)
    return answer
  }

  return { ask, answerOf, expectGood, expectPage, expectRefusal }
}

export type Asking = ReturnType<typeof asking>
