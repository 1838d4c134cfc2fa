import { expect, it, onTestFinished } from 'vitest'
import { person, redirectUri, startServer } from '../support/server/server.js'
import { UserAgent } from '../support/clients/user-agent.js'

it('HX02 a request posted by another site goes to one of the browsers that open it at once', async () => {
  const server = await startServer()
  onTestFinished(() => server[Symbol.asyncDispose]())
  const body = new URLSearchParams({
    ...{ client_id: 'web', redirect_uri: redirectUri, response_type: 'code', scope: 'openid', state: 'posted' },
    ...{ code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM', code_challenge_method: 'S256' },
  })
  for (let round = 0; round < 5; round += 1) {
    const posted = await fetch(`${server.issuer}/authorize`, {
      ...{ method: 'POST', body, redirect: 'manual', headers: { 'sec-fetch-site': 'cross-site' } },
    })
    expect([posted.status, posted.headers.getSetCookie()]).toEqual([303, []])
    const location = posted.headers.get('location') ?? ''
    const agents = Array.from({ length: 10 }, () => new UserAgent())
    const pages = await Promise.all(agents.map((agent) => agent.follow(location)))
    expect(pages.map(({ response }) => response.status).toSorted()).toEqual([200, ...Array<number>(9).fill(400)])
    const winner = pages.findIndex(({ response }) => response.status === 200)
    const shown = pages[winner]
    const signedIn = await agents[winner]?.submit(shown!.url, await shown!.response.text(), person)
    const html = (await signedIn?.response.text()) ?? ''
    const left = signedIn?.left ?? (await agents[winner]?.submit(signedIn!.url, html, { decision: 'allow' }))?.left
    expect([left?.searchParams.has('code'), left?.searchParams.get('state')]).toEqual([true, 'posted'])
  }
})
