import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { loadConfig } from '../../config/load.js'
import { collections, type Collections } from '../../core/collections/collections.js'
import { openStores } from '../../core/collections/stores.js'
import { sessionEntryId, type Session } from '../../core/interaction/session.js'
import { createEndSessionGrants } from '../../core/oauth/grants/session-grants.js'
import { sessionClientId } from '../../core/oauth/back-channel/session-clients.js'
import { hashOpaqueToken, newOpaqueToken } from '../../core/opaque-token.js'
import { basic } from '../support/clients/clients.js'
import { openLogoutReceiver } from '../support/clients/logout-receiver.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { authorizeUrl, verifier } from '../support/forge/mint.js'
import { createClient, createDeployment, type Deployment } from '../support/server/processes.js'
import { redirectUri, subject, webClient } from '../support/server/server.js'

// A session ends at one process while another issues codes in it: SIGNET_RACE_ROUNDS rounds.

const rounds = Number(process.env['SIGNET_RACE_ROUNDS'] ?? 20)

describe('LO15 a session that ends while codes are issued in it', () => {
  const keep = disposeAfterAll()
  const client = createClient()
  keep({ [Symbol.asyncDispose]: async () => client.close() })
  let receiver: Awaited<ReturnType<typeof openLogoutReceiver>>
  let deployment: Deployment
  let origins: readonly string[]
  let stored: Collections
  beforeAll(async () => {
    receiver = await openLogoutReceiver(keep)
    deployment = keep(
      await createDeployment((written) => ({
        ...written,
        outbound: { allow_private_addresses: true },
        clients: [{ ...webClient, consent: 'implicit', backchannel_logout_uri: receiver.uri }],
      })),
    )
    origins = [(await deployment.start()).origin, (await deployment.start()).origin]
    const config = await loadConfig(join(deployment.directory, 'signet.yaml'), process.env)
    stored = collections(keep(await openStores(config, Date.now)))
  })

  const beginSession = async () => {
    const [cookie, sid, interactionId] = [newOpaqueToken(), newOpaqueToken(), randomUUID()]
    const session: Session = { sid, subject, authTime: Math.floor(Date.now() / 1000), amr: ['pwd'], interactionId }
    const entry = { ...session, key: hashOpaqueToken(cookie) }
    await stored.sessions.put(entry.key, session, { ttlSeconds: 600 })
    await stored.sessionIndex.put(sessionEntryId(entry), entry, { ttlSeconds: 600 })
    return { cookie, session }
  }
  const redeem = (origin: string, code: string) =>
    client.post(
      `${origin}/token`,
      { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier },
      { authorization: basic(webClient) },
    )
  const isTold = ({ sid }: Session) =>
    expect.poll(() => receiver.claims().map((claims) => claims['sid'])).toContain(sid)

  it.each([
    ['gives nothing', ['openid']],
    ['for the time after it is redeemed, and the client hears of the end', ['openid', 'offline_access']],
  ])('a code that is issued too late for the end to see it %s', async (_, scope) => {
    const { session } = await beginSession()
    const end = createEndSessionGrants({
      ...{ index: stored.grantIndex, revocations: stored.revocations, grantLifetime: 600 },
      notifyClients: async () => {},
    })
    await end(subject, [session])
    const { sid } = session
    const about = { subject, sid, clientId: 'web' }
    await stored.sessionClients.put(sessionClientId(about), about)
    const authentication = { auth_time: session.authTime, amr: ['pwd'], sid }
    const { code } = await deployment.mint.code({ scope, authentication })
    const answer = await redeem(origins[0] ?? '', code)
    if (scope.includes('offline_access')) {
      expect(answer.status).toBe(200)
      await isTold(session)
    } else expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
  })

  it(
    'no token outlives it, and every client that got one is notified',
    async () => {
      const given: { session: Session; scope: string; accessToken: string }[] = []
      for (let round = 0; round < rounds; round++) {
        const [here, there] = [origins[round % 2] ?? '', origins[1 - (round % 2)] ?? '']
        const { cookie, session } = await beginSession()
        const agent = new UserAgent()
        agent.setCookie('signet-session', cookie)
        const at = await agent.follow(`${there}/logout`)
        const html = await at.response.text()
        const begin = async (scope: string) => {
          const fresh = new UserAgent()
          fresh.setCookie('signet-session', cookie)
          const { left } = await fresh.follow(authorizeUrl(here, { scope, prompt: 'none' }))
          const code = left?.searchParams.get('code')
          if (typeof code !== 'string') return
          const { status, body } = await redeem(here, code)
          if (status === 200) given.push({ session, scope, accessToken: String(body?.['access_token']) })
          else expect({ status, error: body?.['error'] }).toEqual({ status: 400, error: 'invalid_grant' })
        }
        await Promise.all([
          ...['openid', 'openid offline_access', 'openid', 'openid'].map(begin),
          agent.submit(at.url, html, {}),
        ])
      }
      for (const { session, scope, accessToken } of given) {
        await isTold(session)
        const { status } = await client.post(`${origins[0]}/userinfo`, { access_token: accessToken })
        expect(status).toBe(scope.includes('offline_access') ? 200 : 401)
      }
      // A race that the end always wins shows nothing.
      expect(given.length).toBeGreaterThan(0)
    },
    60_000 + rounds * 1000,
  )
})
