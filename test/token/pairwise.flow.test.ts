import { decodeJwt } from 'jose'
import * as oidc from 'openid-client'
import { beforeAll, describe, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { deviceGrant, personAt } from '../support/clients/device.js'
import { openLogoutReceiver } from '../support/clients/logout-receiver.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { challenge, verifier } from '../support/forge/mint.js'
import { accessType, grantType as exchangeGrant, idType } from '../support/server/exchange-server.js'
import { person, startServer, subject, webClient, type TestServer } from '../support/server/server.js'

type Json = Record<string, unknown>
type Receiver = Awaited<ReturnType<typeof openLogoutReceiver>>

const bob = { username: 'bob', password: 'another battery staple' }
const bobSubject = '1-local-bob'
const pairwiseKey = 'a pairwise key of more than 32 bytes, for tests'
const jwt = 'application/token-introspection+jwt'

interface TestClient extends Json {
  readonly client_id: string
  readonly client_secret: string
  readonly redirect_uris: readonly string[]
}

const grants = ['authorization_code', 'refresh_token', deviceGrant, 'client_credentials', exchangeGrant]
const clientOf = (client_id: string, host: string, more: Json = {}): TestClient => ({
  ...webClient,
  client_id,
  client_secret: `${client_id}-secret-of-more-than-256-bits-for-tests`,
  redirect_uris: [`https://${host}/cb`],
  grant_types: grants,
  consent: 'implicit',
  subject_type: 'pairwise',
  userinfo_signed_response_alg: 'ES256',
  ...more,
})

describe('pairwise subjects (OIDC Core §8.1)', () => {
  const keep = disposeAfterAll()
  // Everybody signs in in the same second: what tells of the moment tells of nobody.
  const now = Date.now()
  const time = { ahead: 0 }
  let server: TestServer
  let receivers: { readonly one: Receiver; readonly two: Receiver; readonly plain: Receiver; readonly other: Receiver }
  let clients: Readonly<Record<'one' | 'two' | 'sibling' | 'plain' | 'other' | 'television' | 'gateway', TestClient>>
  beforeAll(async () => {
    const open = () => openLogoutReceiver(keep)
    receivers = { one: await open(), two: await open(), plain: await open(), other: await open() }
    const hears = (name: keyof typeof receivers) => ({ backchannel_logout_uri: receivers[name].uri })
    clients = {
      one: clientOf('one', 'one.example', hears('one')),
      two: clientOf('two', 'two.example', hears('two')),
      sibling: clientOf('sibling', 'ONE.example:8443'),
      plain: clientOf('plain', 'plain.example', { subject_type: 'public', ...hears('plain') }),
      other: clientOf('other', 'other.example', { subject_type: 'public', ...hears('other') }),
      television: clientOf('television', '', { redirect_uris: [], grant_types: [deviceGrant] }),
      gateway: clientOf('gateway', 'gateway.example', {
        allowed_audiences: ['https://api.example'],
        introspection_audiences: ['https://api.example'],
      }),
    }
    server = keep(
      await startServer({
        clock: () => now + time.ahead,
        configure: (written) => ({
          ...written,
          pairwise_key: pairwiseKey,
          token_exchange_enabled: true,
          outbound: { allow_private_addresses: true },
          plugins: [
            ...(written['plugins'] as Json[]),
            { use: 'plugins/grants/device-code' },
            {
              use: 'plugins/grants/token-exchange',
              options: {
                clients: { one: { id_token_scope: ['read'] }, gateway: { audiences: ['https://api.example'] } },
              },
            },
          ],
          clients: Object.values(clients).map((client) => ({
            ...client,
            allowed_audiences: ['https://api.example'],
          })),
          accounts: [
            { ...person, sub: subject, claims: { name: 'Alice Adams' } },
            { ...bob, sub: bobSubject, claims: { name: 'Bob Brown' } },
          ],
        }),
      }),
    )
  })

  const post = async (
    path: string,
    client: TestClient,
    form: Record<string, string>,
    more: Record<string, string> = {},
  ) =>
    fetch(server.issuer + path, {
      method: 'POST',
      headers: { authorization: basic(client), ...more },
      body: new URLSearchParams(form),
    })
  const postJson = async (...call: Parameters<typeof post>) => {
    const response = await post(...call)
    return { status: response.status, body: (await response.json()) as Record<string, string> }
  }
  const urlFor = ({ client_id, redirect_uris: [redirect_uri = ''] }: TestClient, more: Record<string, string> = {}) => {
    const code = { response_type: 'code', code_challenge: challenge, code_challenge_method: 'S256' }
    return `${server.issuer}/authorize?${new URLSearchParams({ ...{ client_id, redirect_uri }, ...code, scope: 'openid offline_access', ...more })}`
  }
  const redeem = (client: TestClient, code: string | null) =>
    postJson('/token', client, {
      grant_type: 'authorization_code',
      code: code ?? '',
      redirect_uri: client.redirect_uris[0] ?? '',
      code_verifier: verifier,
    })
  const signIn = async (
    client: TestClient,
    agent = new UserAgent(),
    who = person,
    more: Record<string, string> = {},
  ) => {
    const left = await agent.authorize(urlFor(client, more), who)
    const { status, body } = await redeem(client, left.searchParams.get('code'))
    expect(status).toBe(200)
    return { access: body['access_token'] ?? '', id: body['id_token'] ?? '', refresh: body['refresh_token'] ?? '' }
  }
  const subOf = (token: string) => decodeJwt(token).sub ?? ''
  const userinfo = async (token: string) => {
    const response = await fetch(`${server.issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` } })
    return { status: response.status, text: await response.text() }
  }
  const signOut = async (agent: UserAgent) => {
    const at = await agent.follow(`${server.issuer}/logout`)
    await agent.submit(at.url, await at.response.text(), {})
  }
  const approve = async (client: TestClient, agent: UserAgent, who: typeof person) => {
    const started = await postJson('/device_authorization', client, { scope: 'openid' })
    expect((await personAt(agent, server.issuer).answer(who, started.body['user_code'] ?? '')).status).toBe(200)
    return postJson('/token', client, { grant_type: deviceGrant, device_code: started.body['device_code'] ?? '' })
  }

  /** All that a client gets of a person in one browser, by every way that there is. */
  const learn = async (name: keyof typeof receivers, agent: UserAgent, who: typeof person): Promise<unknown[]> => {
    const client = clients[name]
    const { access, id, refresh } = await signIn(client, agent, who)
    const again = await postJson('/token', client, { grant_type: 'refresh_token', refresh_token: refresh })
    const device = await approve(client, agent, who)
    const exchanged = await postJson('/token', client, {
      ...{ grant_type: exchangeGrant, subject_token: access, subject_token_type: accessType },
    })
    const jarm = await agent.authorize(urlFor(client, { response_mode: 'jwt' }), who)
    const about = (token: string, headers = {}) => post('/introspect', client, { token }, headers)
    return [
      ...[access, id, again.body, device.body, exchanged.body, (await userinfo(access)).text],
      ...[jarm.searchParams.get('response'), await (await about(access)).json(), await (await about(refresh)).json()],
      await (await about(access, { accept: jwt })).text(),
    ]
  }
  /** Each single value: tokens are opened, and a `jti` is the ids that it is made of. */
  const valuesIn = (value: unknown): unknown[] => {
    if (typeof value === 'string' && /^[\w-]+\.[\w-]+\.[\w-]+$/.test(value)) return valuesIn(decodeJwt(value))
    if (typeof value === 'string') return value.split('.')
    return typeof value === 'object' && value !== null ? Object.values(value).flatMap(valuesIn) : [value]
  }
  /** What both got, and what is not the same for just anybody. */
  const joined = (left: unknown[], right: unknown[], anybody: unknown[]) => {
    const [other, common] = [new Set(valuesIn(right)), new Set(valuesIn(anybody))]
    return [...new Set(valuesIn(left))].filter((value) => other.has(value) && !common.has(value))
  }

  it('PW05 two sectors cannot put together anything that they got', async () => {
    const [alices, bobs] = [new UserAgent(), new UserAgent()]
    const got = {
      one: await learn('one', alices, person),
      two: await learn('two', alices, person),
      plain: await learn('plain', alices, person),
      other: await learn('other', alices, person),
    }
    const anybody = [...(await learn('one', bobs, bob)), ...(await learn('plain', bobs, bob))]
    await signOut(alices)
    await signOut(bobs)
    time.ahead += 1000
    for (const [name, count] of [
      ['one', 2],
      ['two', 1],
      ['plain', 2],
      ['other', 1],
    ] as const) {
      await expect.poll(receivers[name].claims).toHaveLength(count)
      for (const token of receivers[name].claims())
        (valuesIn(got[name]).includes(token.sub) ? got[name] : anybody).push(token)
    }
    expect(joined(got.one, got.two, anybody)).toEqual([])
    expect(joined(got.one, got.plain, anybody)).toEqual([])
    // The search finds what there is: two clients that are told of the local subject share it, and the session.
    expect(joined(got.plain, got.other, anybody)).toHaveLength(2)
    expect(valuesIn(got.one)).not.toContain(subject)
    expect(valuesIn(got.plain)).toContain(subject)
  })

  it('one client gets one subject, everywhere and each time, and so do clients of its sector', async () => {
    const values = new Set(
      [await signIn(clients.one), await signIn(clients.one), await signIn(clients.sibling)].flatMap(
        ({ access, id }) => [subOf(access), subOf(id)],
      ),
    )
    const { access, refresh } = await signIn(clients.one)
    values.add(subOf((await userinfo(access)).text))
    const renewed = await postJson('/token', clients.one, { grant_type: 'refresh_token', refresh_token: refresh })
    values.add(subOf(renewed.body['access_token'] ?? '')).add(subOf(renewed.body['id_token'] ?? ''))
    for (const token of [access, refresh])
      values.add((await postJson('/introspect', clients.one, { token })).body['sub'] ?? '')
    const device = await approve(clients.one, new UserAgent(), person)
    values.add(subOf(device.body['access_token'] ?? '')).add(subOf(device.body['id_token'] ?? ''))
    expect([...values]).toEqual([expect.stringMatching(/^[\w-]{43}$/)])
    expect(values).not.toContain(subOf((await signIn(clients.two)).id))
    expect(values).not.toContain(subOf((await signIn(clients.one, new UserAgent(), bob)).id))
  })

  it('a client without a host has a sector of its own, and a client in its own name its id', async () => {
    const television = await approve(clients.television, new UserAgent(), person)
    expect(subOf(television.body['access_token'] ?? '')).not.toBe(subOf((await signIn(clients.one)).access))
    const own = await postJson('/token', clients.one, { grant_type: 'client_credentials', scope: 'read' })
    expect(decodeJwt(own.body['access_token'] ?? '')).toMatchObject({ sub: 'one' })
    expect(decodeJwt(own.body['access_token'] ?? '')).not.toHaveProperty('sealed_sub')
  })

  it('PW07 nobody but us can read whose token it is, and no two tokens look alike', async () => {
    const agent = new UserAgent()
    const [first, second] = [await signIn(clients.one, agent), await signIn(clients.one, agent)]
    const sealed = [first, second].flatMap(({ access, id }) => [decodeJwt(access), decodeJwt(id)])
    const texts = sealed.map(({ sealed_sub: text }) => String(text))
    expect(new Set(texts).size).toBe(4)
    for (const text of texts) expect(Buffer.from(text, 'base64url').toString('latin1')).not.toContain(subject)
    const bobs = await signIn(clients.one, new UserAgent(), bob)
    expect(String(decodeJwt(bobs.access)['sealed_sub'])).toHaveLength(texts[0]?.length ?? 0)
    for (const token of [first.access, first.refresh]) {
      const { body } = await postJson('/introspect', clients.one, { token })
      expect(body).toMatchObject({ active: true })
      expect(body).not.toHaveProperty('sealed_sub')
    }
  })

  it('a token is exchanged for one in which the next client gets its own subject', async () => {
    const { access, id } = await signIn(clients.one, new UserAgent(), person, { resource: 'https://api.example' })
    const twoSees = subOf((await signIn(clients.gateway)).access)
    const exchange = (client: TestClient, subject_token: string, subject_token_type: string, more = {}) =>
      postJson('/token', client, { grant_type: exchangeGrant, subject_token, subject_token_type, ...more })
    const gateway = await exchange(clients.gateway, access, accessType)
    expect(subOf(gateway.body['access_token'] ?? '')).toBe(twoSees)
    expect(
      (await postJson('/introspect', clients.gateway, { token: gateway.body['access_token'] ?? '' })).body,
    ).toMatchObject({
      active: true,
      sub: twoSees,
    })
    const own = await exchange(clients.one, id, idType, { scope: 'read' })
    expect(own.body).toMatchObject({ access_token: expect.any(String) as string })
    expect(subOf(own.body['access_token'] ?? '')).toBe(subOf(access))
  })

  it('openid-client takes userinfo and refreshed tokens for those of the person who signed in', async () => {
    const { client_id, client_secret, redirect_uris } = clients.one
    const config = await oidc.discovery(
      new URL(server.issuer),
      client_id,
      { id_token_signed_response_alg: 'ES256', userinfo_signed_response_alg: 'ES256' },
      oidc.ClientSecretBasic(client_secret),
      { execute: [oidc.allowInsecureRequests] },
    )
    expect(config.serverMetadata()['subject_types_supported']).toEqual(['public', 'pairwise'])
    const left = await new UserAgent().authorize(urlFor(clients.one), person)
    expect(left.href.startsWith(redirect_uris[0] ?? '?')).toBe(true)
    const tokens = await oidc.authorizationCodeGrant(config, left, { pkceCodeVerifier: verifier })
    const sub = tokens.claims()?.sub ?? ''
    expect((await oidc.fetchUserInfo(config, tokens.access_token, sub)).sub).toBe(sub)
    const again = await oidc.refreshTokenGrant(config, tokens.refresh_token ?? '')
    expect(again.claims()?.sub).toBe(sub)
  })

  it('the audit log has the person, and what the client was told', async () => {
    const { access } = await signIn(clients.one)
    const issued = (await server.audit()).filter(
      ({ event, client_id }) => event === 'token.issued' && client_id === 'one',
    )
    expect(issued.at(-1)).toMatchObject({ sub: subject, pairwise_sub: subOf(access) })
    const told = await signIn(clients.plain)
    const plain = (await server.audit()).filter(
      ({ event, client_id }) => event === 'token.issued' && client_id === 'plain',
    )
    expect(plain.at(-1)).not.toHaveProperty('pairwise_sub')
    expect(decodeJwt(told.access)).not.toHaveProperty('sealed_sub')
  })
})
