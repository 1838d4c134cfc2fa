import { randomUUID } from 'node:crypto'
import express from 'express'
import * as oidc from 'openid-client'

const issuer = new URL('http://localhost:3000')
const origin = 'http://localhost:3002'

const insecure = { execute: [oidc.allowInsecureRequests] } // Only for http://localhost.

let discovered
/** Signet is asked when somebody signs in: it may start after this application. */
const configuration = async () =>
  (discovered ??= await oidc.discovery(issuer, 'app', process.env.APP_SECRET, undefined, insecure))

/** What this application remembers of each browser, by the value of its cookie. */
const sessions = new Map()
const sessionOf = (request) => sessions.get(/(?:^|; )app=([\w-]+)/.exec(request.headers.cookie ?? '')?.[1])
const startSession = (response, content) => {
  const id = randomUUID()
  sessions.set(id, content)
  response.cookie('app', id, { httpOnly: true, sameSite: 'lax' })
}

const app = express()

app.get('/', (request, response) => {
  const { claims } = sessionOf(request) ?? {}
  if (claims === undefined) return response.send('<h1>Not signed in</h1><a href="/login">Sign in</a>')
  response.type('json').send(JSON.stringify(claims, null, 2))
})

app.get('/login', async (request, response) => {
  const checks = {
    pkceCodeVerifier: oidc.randomPKCECodeVerifier(),
    expectedState: oidc.randomState(),
    expectedNonce: oidc.randomNonce(),
  }
  startSession(response, { checks })
  const url = oidc.buildAuthorizationUrl(await configuration(), {
    redirect_uri: `${origin}/callback`,
    scope: 'openid profile email',
    state: checks.expectedState,
    nonce: checks.expectedNonce,
    code_challenge: await oidc.calculatePKCECodeChallenge(checks.pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  response.redirect(url.href)
})

app.get('/callback', async (request, response) => {
  const { checks } = sessionOf(request) ?? {}
  if (checks === undefined) return response.redirect('/login')
  const tokens = await oidc.authorizationCodeGrant(await configuration(), new URL(request.url, origin), checks)
  const { sub } = tokens.claims()
  // A new session for who signed in: nobody can have planted its id before.
  startSession(response, { claims: await oidc.fetchUserInfo(await configuration(), tokens.access_token, sub) })
  response.redirect('/')
})

app.listen(3002, '127.0.0.1', () => console.log(`The application: ${origin}`))
