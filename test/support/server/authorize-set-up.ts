import { afterAll, beforeAll } from 'vitest'
import type { UserAgent } from '../clients/user-agent.js'
import type { Sent } from '../clients/authorize-ask.js'
import { startProvider, type Provider } from './authorize-provider.js'

// Gives the test file that calls it a provider.

export let provider: Provider

export const setUpProvider = (): void => {
  beforeAll(async () => {
    provider = await startProvider()
  })
  afterAll(() => provider.close())
}

/** By the clock of the provider. */
export const seconds = (): number => Math.floor(provider.time.now / 1000)

/** What the browser meets first: a page of ours, or the client with a code or an error. */
export const meet = async (agent: UserAgent, sent: Sent = {}): Promise<string> => {
  const { left, response } = await agent.follow(provider.url(sent))
  if (left) return left.searchParams.get('error') ?? (left.searchParams.has('code') ? 'code' : 'nothing')
  const html = await response.text()
  return html.includes('id="login-submit"') ? 'login' : html.includes('id="consent-allow"') ? 'consent' : html
}
