import { expect } from 'vitest'
import { UserAgent } from '../clients/user-agent.js'
import type { Sent } from '../clients/authorize-ask.js'
import { alice, type Provider } from './authorize-provider.js'

export const sessionCookie = (agent: UserAgent): string | undefined => agent.cookies.get('signet-session')?.value
export const csrfIn = (html: string): string => /name="csrf" value="([^"]+)"/.exec(html)?.[1] ?? ''

export const post = (agent: UserAgent, url: URL, fields: Readonly<Record<string, string>>) =>
  agent.fetch(url, { method: 'POST', body: new URLSearchParams(fields) })

export const expectErrorPage = async (response: Response, status: number): Promise<void> => {
  expect(response.status).toBe(status)
  expect(response.headers.get('location')).toBeNull()
  expect(response.headers.getSetCookie()).toEqual([])
  expect(await response.text()).toContain('error')
}

/** Walks the pages of one provider. */
export const walking = (provider: Provider) => {
  /** Opens `/authorize` and follows to the page. */
  const open = async (agent: UserAgent, sent: Sent = {}) => {
    const { response, url, left } = await agent.follow(provider.url(sent))
    return { url, left, status: response.status, html: await response.text(), response }
  }

  const expectGood = async (): Promise<void> => {
    const answer = await new UserAgent().authorize(provider.url(), alice)
    expect(answer.searchParams.has('code')).toBe(true)
  }

  /** Shows a consent page to somebody who has just signed in. */
  const openConsent = async (agent: UserAgent, person = alice, sent: Sent = { prompt: 'login consent' }) => {
    const login = await open(agent, sent)
    const { response, url } = await agent.submit(login.url, login.html, { ...person })
    const html = await response.text()
    expect(html).toContain('id="consent-allow"')
    return { url, html }
  }

  return { open, expectGood, openConsent }
}

export type Walking = ReturnType<typeof walking>
