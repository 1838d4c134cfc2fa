import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { collections } from '../../core/collections/collections.js'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import type { Client } from '../../core/oauth/clients/client.js'
import { basic, api, type Credentials } from '../support/clients/clients.js'
import {
  accessType,
  delegate,
  gateway,
  idType,
  ledger,
  startExchangeServer,
  web,
  withExchange,
  type ExchangeServer,
} from '../support/server/exchange-server.js'
import { expectRefusal, postForm } from '../support/server/token-server.js'

type Form = Readonly<Record<string, string>>

describe('token exchange and revocation, over HTTP', () => {
  let host: ExchangeServer
  beforeAll(async () => {
    host = await startExchangeServer()
  })
  afterAll(() => host[Symbol.asyncDispose]())

  const shown = (token: string, type = accessType): Form => ({ subject_token: token, subject_token_type: type })

  const post = async (path: string, form: Form, client: Credentials, at: ExchangeServer = host): Promise<unknown> => {
    const response = await fetch(at.server.issuer + path, {
      method: 'POST',
      body: new URLSearchParams(form),
      headers: { authorization: basic(client) },
    })
    expect(response.status).toBe(200)
    return response.json()
  }
  const revoke = (token: string, client: Credentials): Promise<unknown> => post('/revoke', { token }, client)
  const expectActive = async (token: string, client: Credentials, active: boolean): Promise<void> =>
    expect(await post('/introspect', { token }, client)).toMatchObject({ active })

  const signIn = async () => {
    const { code } = await host.mint.code({ resource: [api] })
    const { status, body } = await host.redeem(code)
    expect(status).toBe(200)
    return body as Record<'access_token' | 'id_token' | 'refresh_token', string>
  }
  const exchange = async (token: string, client: Credentials, more: Form = {}): Promise<string> => {
    const { status, body } = await host.exchange(client, { ...shown(token), ...more })
    expect(status).toBe(200)
    return String(body['access_token'])
  }
  afterEach(async () => {
    const { access_token } = await signIn()
    await exchange(access_token, gateway)
  })

  it('TX10 a subject token that its client revoked gives nothing more; the grant remains', async () => {
    const alice = await signIn()
    await revoke(alice.access_token, web)
    for (const client of [gateway, delegate, web])
      expectRefusal(await host.exchange(client, shown(alice.access_token)), 400, 'invalid_request')
    const refreshed = await host.refresh(alice.refresh_token, {}, web)
    await exchange(String(refreshed.body['access_token']), gateway)
  })

  it('TX10 an actor token that was revoked makes nobody act', async () => {
    const alice = await signIn()
    const own = await host.own(delegate)
    const actor = { actor_token: own, actor_token_type: accessType }
    await exchange(alice.access_token, delegate, actor)
    await revoke(own, delegate)
    expectRefusal(await host.exchange(delegate, { ...shown(alice.access_token), ...actor }), 400, 'invalid_request')
  })

  it('what came by exchange, and by exchange of that, ends with the grant', async () => {
    const alice = await signIn()
    const first = await exchange(alice.access_token, gateway)
    const second = await exchange(first, gateway, { resource: ledger })
    const third = await exchange(alice.access_token, delegate, {
      actor_token: await host.own(delegate),
      actor_token_type: accessType,
    })
    const issued = [[first, gateway] as const, [second, gateway] as const, [third, delegate] as const]
    for (const [token, client] of issued) await expectActive(token, client, true)
    await revoke(alice.refresh_token, web)
    for (const [token, client] of issued) {
      await expectActive(token, client, false)
      expectRefusal(await host.exchange(client, shown(token)), 400, 'invalid_request')
    }
    expectRefusal(await host.exchange(web, shown(alice.id_token, idType)), 400, 'invalid_request')
  })

  it('TX10 an id_token that outlives the grant stays ended with it', async () => {
    await using brief = await startExchangeServer((written) => ({
      ...withExchange(written),
      ...{ refresh_token_absolute_ttl_secs: 600, refresh_token_idle_ttl_secs: 600, id_token_ttl_secs: 7200 },
    }))
    const { body } = await brief.redeem((await brief.mint.code({ resource: [api] })).code)
    const form = shown(String(body['id_token']), idType)
    expect((await brief.exchange(web, form)).status).toBe(200)
    await post('/revoke', { token: String(body['refresh_token']) }, web, brief)
    for (const minutes of [0, 20, 60]) {
      brief.later(minutes * 60_000)
      expectRefusal(await brief.exchange(web, form), 400, 'invalid_request')
    }
  })

  it('TX10 a token of a client that is gone gives nothing more', async () => {
    const { clients } = collections({
      records: host.store,
      ephemeral: host.store,
      [Symbol.asyncDispose]: async () => {},
    })
    const passing = { ...web, client_id: 'passing' }
    await clients.put('passing', parseClientMetadata(passing, ['openid']).client as Client)
    const { body } = await host.redeem(
      (await host.mint.code({ clientId: 'passing', resource: [api] })).code,
      {},
      passing,
    )
    await exchange(String(body['access_token']), gateway)
    await exchange(String(body['id_token']), passing, { subject_token_type: idType })
    await clients.remove('passing')
    host.later(120_000)
    expectRefusal(await host.exchange(gateway, shown(String(body['access_token']))), 400, 'invalid_request')
  })

  it('one that came by exchange is revoked by its own client, alone', async () => {
    const alice = await signIn()
    const [first, other] = [await exchange(alice.access_token, gateway), await exchange(alice.access_token, gateway)]
    const form = { token: first }
    expectRefusal(
      await postForm(`${host.server.issuer}/revoke`, form, { authorization: basic(web) }),
      400,
      'invalid_grant',
    )
    await expectActive(first, gateway, true)
    await revoke(first, gateway)
    await expectActive(first, gateway, false)
    expectRefusal(await host.exchange(gateway, shown(first)), 400, 'invalid_request')
    await expectActive(other, gateway, true)
    await expectActive(alice.access_token, web, true)
  })
})
