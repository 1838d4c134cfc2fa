import { describe, expect, it } from 'vitest'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import { hashOpaqueToken } from '../../core/opaque-token.js'
import { publicClient, serviceClient, webClient } from '../support/server/server.js'
import {
  basic,
  basicClient,
  disabledClient,
  expiringClient,
  oddClient,
  postClient,
  secretExpiry,
} from '../support/clients/clients.js'
import { collectionsOf } from '../support/forge/mint.js'
import { expectRefusal, type Answer, type Form } from '../support/server/token-server.js'
import { host, setUpTokens } from '../support/server/token-set-up.js'

setUpTokens()

const grant_type = 'client_credentials'
const raw = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`
const ask = (form: Form, authorization?: string): Promise<Answer> =>
  host.token(
    typeof form === 'string' ? form : { grant_type, ...form },
    authorization === undefined ? {} : { authorization },
  )

const expectInvalidClient = (answer: Answer, usedHeader: boolean): void => {
  expectRefusal(answer, 401, 'invalid_client')
  expect(answer.headers.get('www-authenticate')).toBe(usedHeader ? 'Basic realm="token"' : null)
}

/** All that a client could tell two answers apart by, but for the request id. */
const visible = ({ status, text, headers }: Answer) => ({
  status,
  text,
  headers: [...headers].filter(([name]) => !['x-request-id', 'date'].includes(name)),
})

const credentials = { client_id: 'stored', client_secret: 'stored-secret-of-more-than-256-bits-for-tests' }

/** A client in the store, and not in the configuration. */
const storeClient = async () => {
  const { clients } = collectionsOf(host.store)
  const { client } = parseClientMetadata({ ...credentials, grant_types: [grant_type], scope: 'read' }, ['read'])
  if (client === undefined) throw new Error('the metadata is wrong')
  await clients.put('stored', client)
  return { client, clients }
}

describe('client authentication at /token', () => {
  it('CA01 a wrong secret and an unknown client get the same answer', async () => {
    const secret = serviceClient.client_secret
    const wrong = ['x', `${secret}x`, secret.slice(1), secret.toUpperCase(), `${secret} `, 'x'.repeat(2000), '%00', 'é']
    const answers: Answer[] = []
    for (const client_secret of wrong)
      for (const client_id of ['service', 'nobody', 'disabled', 'SERVICE', 'service '])
        answers.push(await ask({}, basic({ client_id, client_secret })))
    answers.push(await ask({}, basic({ client_id: 'nobody', client_secret: secret })))
    for (const answer of answers) expectInvalidClient(answer, true)
    expect(new Set(answers.map((answer) => JSON.stringify(visible(answer)))).size).toBe(1)

    const posted: Answer[] = []
    for (const client_secret of wrong.filter((text) => text !== '%00'))
      for (const client_id of ['post', 'nobody', 'disabled']) posted.push(await ask({ client_id, client_secret }))
    for (const answer of posted) expectInvalidClient(answer, false)
    expect(new Set(posted.map((answer) => JSON.stringify(visible(answer)))).size).toBe(1)
    expect((await ask({}, basic(serviceClient))).status).toBe(200)
    expect((await ask({ ...postOf(postClient) })).status).toBe(200)
  })

  const postOf = ({ client_id, client_secret }: { client_id: string; client_secret: string }) => ({
    client_id,
    client_secret,
  })

  it('CA02 two methods at once, both valid or only one of them', async () => {
    const assertion = { client_assertion: 'eyJhbGciOiJub25lIn0.e30.', client_assertion_type: 'x' }
    const both: readonly (readonly [Form, string | undefined])[] = [
      [postOf(serviceClient), basic(serviceClient)],
      [postOf(postClient), basic(postClient)],
      [postOf(postClient), basic(serviceClient)],
      [{ client_secret: postClient.client_secret }, basic(serviceClient)],
      [{ client_secret: 'wrong' }, basic(serviceClient)],
      [{ ...postOf(postClient), client_secret: 'wrong' }, basic(serviceClient)],
      [assertion, basic(serviceClient)],
      [{ ...assertion, client_id: 'service' }, basic(serviceClient)],
      [{ ...assertion, ...postOf(postClient) }, undefined],
      [postOf(postClient), 'Bearer abc'],
      [postOf(postClient), 'Digest username="post"'],
      [postOf(postClient), 'Basic'],
    ]
    for (const [form, authorization] of both) {
      const answer = await ask(form, authorization)
      expect([400, 401]).toContain(answer.status)
      expectRefusal(answer, answer.status, answer.status === 400 ? 'invalid_request' : 'invalid_client')
    }
    expectInvalidClient(await ask({ ...assertion, client_id: 'app' }), false)
    expectInvalidClient(await ask({ client_id: 'app' }, 'Bearer abc'), true)
  })

  it('CA02 a credential twice', async () => {
    const twice = `grant_type=${grant_type}&client_id=post&client_secret=${postClient.client_secret}`
    expectRefusal(await ask(`${twice}&client_secret=x`), 400, 'invalid_request')
    expectRefusal(await ask(`${twice}&client_id=post`), 400, 'invalid_request')
    expect((await ask(twice)).status).toBe(200)
  })

  it('CA03 a method that is not the registered one', async () => {
    expectInvalidClient(await ask(postOf(basicClient)), false)
    expectInvalidClient(await ask({}, basic(postClient)), true)
    expect((await ask({}, basic(basicClient))).status).toBe(200)
    expectInvalidClient(await ask({ client_id: 'service' }), false)
    expectInvalidClient(await ask({ client_id: 'post' }), false)
    expectInvalidClient(await ask({ client_id: 'app', client_secret: 'x' }), false)
    expectInvalidClient(await ask({}, basic({ client_id: 'app', client_secret: 'x' })), true)
    expectInvalidClient(await ask({}), false)
  })

  it('CA22 a client without a registered method may send its secret either way, and nothing else', async () => {
    expect((await ask(postOf(serviceClient))).status).toBe(200)
    expect((await ask({}, basic(serviceClient))).status).toBe(200)
    expectInvalidClient(await ask({ ...postOf(serviceClient), client_secret: 'wrong' }), false)
    expectInvalidClient(await ask({ client_id: 'service' }), false)
  })

  it('CA23 an empty Basic password counts as the method none, only for public clients', async () => {
    const refresh = { grant_type: 'refresh_token', refresh_token: 'x' }
    for (const form of [refresh, { ...refresh, client_id: 'app' }])
      expectRefusal(await ask(form, raw('app:')), 400, 'invalid_grant')
    expectInvalidClient(await ask({ ...refresh, client_id: 'other-app' }, raw('app:')), true)
    expectRefusal(await ask({ ...refresh, client_secret: 'x' }, raw('app:')), 400, 'invalid_request')
    for (const client_id of ['service', 'basic', 'post', 'nobody', 'disabled'])
      expectInvalidClient(await ask({}, raw(`${client_id}:`)), true)
  })

  it('CA24 the audit record of a refusal names the intended client, the method used and the one registered', async () => {
    const refusals: readonly (readonly [Answer, object])[] = [
      [
        await ask(postOf(basicClient)),
        { client: 'basic', sent: 'client_secret_post', registered: 'client_secret_basic' },
      ],
      [
        await ask({}, basic({ client_id: 'service', client_secret: 'wrong-canary' })),
        { client: 'service', sent: 'client_secret_basic', registered: 'client_secret_basic client_secret_post' },
      ],
      [await ask({ client_id: 'post' }), { client: 'post', sent: 'none', registered: 'client_secret_post' }],
      [await ask({}, basic(disabledClient)), { client: 'disabled', sent: 'client_secret_basic' }],
      [await ask({}, basic({ client_id: 'made-up-canary', client_secret: 'x' })), { sent: 'client_secret_basic' }],
      [await ask({}, raw('canary')), { sent: 'client_secret_basic' }],
    ]
    for (const [{ headers }, { client, sent, registered }] of refusals as readonly [Answer, Record<string, string>][]) {
      const request_id = headers.get('x-request-id')
      const line = (await host.server.audit()).find((one) => one['request_id'] === request_id)
      expect(line).toMatchObject({ event: 'client.refused', client_auth_method: sent })
      expect([line?.['claimed_client_id'], line?.['registered_auth_method']]).toEqual([client, registered])
    }
    expect(JSON.stringify(await host.server.audit())).not.toContain('canary')
  })

  it.each([
    ['no credentials', 'Basic'],
    ['no credentials after a blank', 'Basic  '],
    ['no colon', raw('service')],
    ['nothing', raw('')],
    ['a colon alone', raw(':')],
    ['no id', raw(`:${serviceClient.client_secret}`)],
    ['no secret', raw('service:')],
    ['bad percent-encoding', raw('service:%zz')],
    ['half a percent-encoding', raw('service:%4')],
    ['an overlong encoding', raw('service:%C0%AF')],
    ['NUL', raw('service:%00')],
    ['bytes that are not UTF-8', `Basic ${Buffer.from([0x61, 0x3a, 0xff, 0xfe]).toString('base64')}`],
    ['base64url', 'Basic c2Vydmlj-_=='],
    [
      'base64 with blanks',
      `Basic ${raw('service:x')
        .slice(6)
        .replace(/(.{4})/g, '$1 ')}`,
    ],
    ['no padding', basic(serviceClient).replace(/=*$/, '') + (basic(serviceClient).endsWith('=') ? '' : 'A')],
    ['trailing bits', 'Basic YTpiYQ=='.replace('Q==', 'R==')],
    ['text', 'Basic service:secret'],
    ['8 KiB', raw(`service:${'x'.repeat(6000)}`)],
    ['a comma', `${basic(serviceClient)}, Bearer x`],
    ['parameters', 'Basic realm="x"'],
    ['a tab', basic(serviceClient).replace(' ', '\t')],
    ['another scheme', basic(serviceClient).replace('Basic', 'Basics')],
    ['Bearer', 'Bearer c2VydmljZQ'],
  ])('CA04 Basic with %s', async (_, authorization) => {
    const answer = await ask({}, authorization)
    expect([400, 401]).toContain(answer.status)
    expectRefusal(answer, answer.status, answer.status === 400 ? 'invalid_request' : 'invalid_client')
    expect((await ask({}, basic(serviceClient))).status).toBe(200)
  })

  it('CA04 the scheme in any case; id and secret form-encoded, whatever they contain', async () => {
    for (const scheme of ['basic', 'BASIC', 'bAsIc'])
      expect((await ask({}, basic(serviceClient).replace('Basic', scheme))).status).toBe(200)
    expect((await ask({}, basic(oddClient))).status).toBe(200)
    expectInvalidClient(await ask({}, raw(`${oddClient.client_id}:${oddClient.client_secret}`)), true)
  })

  it('CA05 a secret in the query', async () => {
    const { client_id, client_secret } = postClient
    for (const query of [{ client_id, client_secret }, { client_secret }, { client_id }]) {
      const response = await fetch(`${host.server.issuer}/token?${new URLSearchParams(query)}`, {
        method: 'POST',
        body: new URLSearchParams({ grant_type, ...query }),
      })
      expect(response.status).toBe(400)
      const body = await response.text()
      expect(JSON.parse(body)).toMatchObject({ error: 'invalid_request' })
      expect(body).not.toContain(client_secret)
    }
  })

  it('CA16 a disabled client, in the configuration and in the store, from the next request on', async () => {
    expectInvalidClient(await ask({}, basic(disabledClient)), true)
    const { client, clients } = await storeClient()
    expect((await ask({}, basic(credentials))).status).toBe(200)
    await clients.put('stored', { ...client, disabled: true })
    expectInvalidClient(await ask({}, basic(credentials)), true)
    await clients.put('stored', client)
    expect((await ask({}, basic(credentials))).status).toBe(200)
    await clients.remove('stored')
    expectInvalidClient(await ask({}, basic(credentials)), true)
  })

  it('CA17 client_credentials from a public client, even one that was stored with the grant', async () => {
    expectRefusal(await ask({ client_id: publicClient.client_id }), 400, 'unauthorized_client')
    const { client, clients } = await storeClient()
    await clients.put('stored', { ...client, token_endpoint_auth_method: 'none' })
    expectRefusal(await ask({ client_id: 'stored' }), 400, 'unauthorized_client')
    await clients.remove('stored')
  })

  it('CA21 client_id in the body differs from the authenticated one', async () => {
    for (const client_id of ['web', 'app', 'nobody', 'SERVICE', 'service '])
      expectInvalidClient(await ask({ client_id }, basic(serviceClient)), true)
    expect((await ask({ client_id: 'service' }, basic(serviceClient))).status).toBe(200)
    expectRefusal(await ask({ client_id: 'service' }, basic(webClient)), 401, 'invalid_client')
  })

  it('CA16 an expired secret', async () => {
    expect((await ask({}, basic(expiringClient))).status).toBe(200)
    host.later(secretExpiry * 1000 - host.now() - 1000)
    expect((await ask({}, basic(expiringClient))).status).toBe(200)
    host.later(1000)
    expectInvalidClient(await ask({}, basic(expiringClient)), true)
    expect((await ask({}, basic(serviceClient))).status).toBe(200)
  })

  it('CA16 a replaced secret after its overlap', async () => {
    const { client, clients } = await storeClient()
    const before = { ...credentials, client_secret: 'the-secret-before-of-more-than-256-bits-for-tests' }
    await clients.put('stored', {
      ...client,
      previous_client_secret_sha256: hashOpaqueToken(before.client_secret),
      previous_client_secret_expires_at: Math.floor(host.now() / 1000) + 60,
    })
    const statuses = async () => [(await ask({}, basic(credentials))).status, (await ask({}, basic(before))).status]
    host.later(59_000 - (host.now() % 1000))
    expect(await statuses()).toEqual([200, 200])
    host.later(1000)
    expect(await statuses()).toEqual([200, 401])
    expectInvalidClient(await ask({}, basic({ ...before, client_secret: 'neither of both' })), true)
    await clients.remove('stored')
  })

  it('every refusal is in the audit log with its reason', async () => {
    const refused = (await host.server.audit()).filter(({ event }) => event === 'client.refused')
    const reasons = new Set(refused.map(({ reason }) => reason))
    for (const reason of [
      'no client authentication',
      'unknown client',
      'client is disabled',
      'wrong client_secret',
      'client_secret has expired',
      'malformed Basic credentials',
      'method is not the registered one',
      'client_id differs from the authenticated client',
    ])
      expect(reasons).toContain(reason)
  })
})
