import { person, redirectUri, serviceClient, webClient } from '../server/server.js'
import { UserAgent } from '../clients/user-agent.js'
import { basic, clients } from '../clients/clients.js'
import type { Base, Seeds } from './fuzzed-requests.js'
import { challenge, verifier, type Mint } from './mint.js'

export interface FuzzSeeds extends Seeds {
  /** Those of the values that nobody but their owner may see. */
  readonly secrets: readonly string[]
}

/** Signs in, redeems and begins what is needed for requests that are right, but for what happens to them. */
export const gatherSeeds = async (issuer: string, mint: Mint): Promise<FuzzSeeds> => {
  const user = new UserAgent()
  const query = {
    client_id: 'web',
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: 'openid offline_access',
    code_challenge: challenge,
    code_challenge_method: 'S256',
  }
  const exchange = { grant_type: 'authorization_code', redirect_uri: redirectUri, code_verifier: verifier }
  const authorization = basic(webClient)
  const url = `${issuer}/authorize?${new URLSearchParams(query)}`
  const callback = await user.authorize(url, person)
  const code = callback.searchParams.get('code') ?? ''
  const response = await fetch(`${issuer}/token`, {
    method: 'POST',
    body: new URLSearchParams({ ...exchange, code }),
    headers: { authorization },
  })
  const answer = (await response.json()) as Record<string, string>
  const stranger = new UserAgent()
  const page = await stranger.follow(url)
  const interaction = page.url.pathname.split('/')[2] ?? ''
  const csrf = /name="csrf"[^>]*value="([^"]+)"/.exec(await page.response.text())?.[1] ?? ''
  const { token } = await mint.refreshToken()
  const { access_token = '', id_token = '', refresh_token = '' } = answer
  const [forWeb, forApp] = [(await mint.code()).code, (await mint.code({ clientId: 'app' })).code]
  const clientSecrets = clients.flatMap((client) => ('client_secret' in client ? [client.client_secret] : []))
  const secrets = [code, access_token, id_token, refresh_token, token, csrf, verifier, forWeb, forApp, ...clientSecrets]
  secrets.push(person.password, authorization.slice(6), basic(serviceClient).slice(6))
  const known = [...Object.values(query), ...secrets, ...Object.values(answer).map(String), interaction]
  known.push(...clients.map((client) => client.client_id), person.username, 'authorization_code', 'refresh_token')
  known.push('client_credentials', 'form_post', 'query', 'none', 'login', 'consent')
  const cookies = [user, stranger].map(({ cookies: jar }) => {
    secrets.push(...[...jar.values()].map(({ value }) => value))
    return [...jar].map(([name, { value }]) => `${name}=${value}`).join('; ')
  })

  const bases: Base[] = []
  const [signedIn = '', anonymous = ''] = cookies
  const tokenBase = (form: Record<string, string>, headers: Record<string, string> = {}): Base => ({
    method: 'POST',
    path: '/token',
    headers,
    form,
  })
  const pageBase = (at: string): Base => ({
    method: 'POST',
    path: `/interaction/${interaction}/${at}`,
    headers: { cookie: anonymous },
    form: { csrf, username: 'alice', password: 'wrong', decision: 'allow' },
  })
  for (let index = 0; index < 20; index++) {
    const fresh = await Promise.all([mint.code(), mint.code({ clientId: 'app' }), mint.refreshToken()])
    secrets.push(fresh[0].code, fresh[1].code, fresh[2].token)
    bases.push(tokenBase({ ...exchange, code: fresh[0].code }, { authorization }))
    bases.push(tokenBase({ ...exchange, client_id: 'app', code: fresh[1].code }))
    bases.push(tokenBase({ grant_type: 'refresh_token', client_id: 'app', refresh_token: fresh[2].token }))
    bases.push(tokenBase({ grant_type: 'client_credentials', scope: 'read' }, { authorization: basic(serviceClient) }))
    for (const cookie of [signedIn, anonymous, ''])
      bases.push({ method: 'GET', path: '/authorize', headers: cookie === '' ? {} : { cookie }, form: query })
    bases.push({ method: 'POST', path: '/authorize', headers: { cookie: signedIn }, form: query })
    const bearer = { authorization: `Bearer ${access_token}` }
    bases.push({ method: 'GET', path: '/userinfo', headers: bearer, form: {} })
    bases.push({ method: 'POST', path: '/userinfo', headers: bearer, form: {} })
    bases.push(pageBase('consent'))
  }
  bases.push(pageBase('login'))
  return { known, cookies, bases, interaction, secrets: [...new Set(secrets)].filter((secret) => secret.length > 8) }
}
