import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { publicClient, serviceClient, subject, webClient } from '../support/server/server.js'
import { basic, disabledClient, otherClient, otherPublicClient, type Credentials } from '../support/clients/clients.js'
import { failingAudit, failingStore, inBothRoles, type Fault, type Faults } from '../support/stores/failing-store.js'
import { decode, forge, part } from '../support/forge/forge.js'
import {
  expectRefusal,
  postForm,
  read,
  startTokenServer,
  type Answer,
  type Form,
  type TokenServer,
} from '../support/server/token-server.js'

type Json = Readonly<Record<string, string>>

const ask = (on: TokenServer, form: Form, headers: Json): Promise<Answer> =>
  postForm(`${on.server.issuer}/revoke`, form, headers)

let host: TokenServer
beforeAll(async () => {
  host = await startTokenServer()
})
afterAll(() => host[Symbol.asyncDispose]())
afterEach(async () => {
  const issued = await issue()
  expectDone(await revoke(issued.refresh_token, webClient))
  await expectDead(issued)
})

const revoke = (token: string, client: Credentials, further: Json = {}, on = host): Promise<Answer> =>
  client.client_secret === undefined
    ? ask(on, { token, client_id: client.client_id, ...further }, {})
    : ask(on, { token, ...further }, { authorization: basic(client) })

interface Issued {
  readonly access_token: string
  readonly id_token: string
  readonly refresh_token: string
  readonly grantId: string
  readonly code: string
  readonly client: Credentials
}

const issue = async (client: Credentials = webClient, on = host): Promise<Issued> => {
  const { code, grantId } = await on.mint.code({ clientId: client.client_id })
  const answer = await on.redeem(code, {}, client)
  expect(answer.status).toBe(200)
  return { ...(answer.body as unknown as Issued), grantId, code, client }
}

const expectDone = (answer: Answer): void => {
  expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: '{}' })
  expect(answer.headers.get('cache-control')).toBe('no-store')
}

const expectAlive = async ({ access_token, refresh_token, client }: Issued, on = host): Promise<string> => {
  expect((await on.userinfo(access_token)).status).toBe(200)
  const refreshed = await on.refresh(refresh_token, {}, client)
  expect(refreshed.status).toBe(200)
  return (refreshed.body['refresh_token'] as string | undefined) ?? refresh_token
}

const expectDead = async ({ access_token, refresh_token, client }: Issued, on = host): Promise<void> => {
  expectRefusal(await on.userinfo(access_token), 401, 'invalid_token')
  expectRefusal(await on.refresh(refresh_token, {}, client), 400, 'invalid_grant')
}

describe('/revoke', () => {
  it('a refresh token ends the whole grant, an access token itself alone', async () => {
    for (const client of [webClient, publicClient]) {
      const first = await issue(client)
      expectDone(await revoke(first.access_token, client))
      expectRefusal(await host.userinfo(first.access_token), 401, 'invalid_token')
      const refreshed = await host.refresh(first.refresh_token, {}, client)
      const now = { ...first, ...(refreshed.body as Partial<Issued>) }
      expect((await host.userinfo(now.access_token)).status).toBe(200)
      expectDone(await revoke(now.refresh_token, client))
      await expectDead(now)
      expect(await host.store.revocations('revocations').isRevoked([first.grantId])).toBe(true)
      expectDone(await revoke(now.refresh_token, client))
    }
    const service = await host.token({ grant_type: 'client_credentials' }, { authorization: basic(serviceClient) })
    const token = String(service.body['access_token'])
    expectDone(await revoke(token, serviceClient))
    expect(await host.store.revocations('revocations').isRevoked([String(decode(token, 1)['jti'])])).toBe(true)
  })

  it('a replaced refresh token ends the grant too: its successor may never have arrived', async () => {
    const issued = await issue(publicClient)
    const second = await expectAlive(issued)
    const third = await expectAlive({ ...issued, refresh_token: second })
    for (const [old, live] of [
      [issued.refresh_token, third],
      [second, third],
    ] as const) {
      expectDone(await revoke(old, publicClient))
      await expectDead({ ...issued, refresh_token: live })
    }
  })

  it('by what the token is, whatever the hint says', async () => {
    for (const hint of ['access_token', 'refresh_token', 'id_token', 'no such type', '💥']) {
      const issued = await issue()
      expectDone(await revoke(issued.access_token, webClient, { token_type_hint: hint }))
      expectRefusal(await host.userinfo(issued.access_token), 401, 'invalid_token')
      expectDone(await revoke(issued.refresh_token, webClient, { token_type_hint: hint }))
      await expectDead(issued)
    }
  })

  it("RV01 another client's token is refused, and nothing happens", async () => {
    const ofWeb = await issue(webClient)
    const ofApp = await issue(publicClient)
    for (const [{ access_token, refresh_token }, client] of [
      [ofWeb, otherClient],
      [ofWeb, publicClient],
      [ofWeb, serviceClient],
      [ofApp, otherPublicClient],
      [ofApp, webClient],
    ] as const)
      for (const token of [access_token, refresh_token])
        for (const hint of ['access_token', 'refresh_token'])
          expectRefusal(await revoke(token, client, { token_type_hint: hint }), 400, 'invalid_grant')
    for (const issued of [ofWeb, ofApp]) await expectAlive(issued)
  })

  it('RV01 no client, or one that does not authenticate', async () => {
    const issued = await issue()
    const { refresh_token: token } = issued
    for (const [form, headers] of [
      [{ token }, {}],
      [{ token, client_id: 'web' }, {}],
      [{ token, client_id: 'nobody' }, {}],
      [{ token }, { authorization: basic({ ...webClient, client_secret: 'wrong' }) }],
      [{ token }, { authorization: basic(disabledClient) }],
      [{ token }, { authorization: `Bearer ${issued.access_token}` }],
      [{ token, client_id: 'app' }, { authorization: basic(webClient) }],
    ] as readonly (readonly [Json, Json])[])
      expectRefusal(await ask(host, form, headers), 401, 'invalid_client')
    await expectAlive(issued)
  })

  it('RV02 a token that is not ours: 200', async () => {
    const issued = await issue()
    const { access_token, id_token, refresh_token, code } = issued
    const key = await host.key()
    const [header, claims] = [decode(access_token, 0), decode(access_token, 1)]
    for (const token of [
      ...['x', '.', 'a.b.c', '{}', '💥', 'a'.repeat(65), 'a'.repeat(60_000), id_token, code, `${access_token}.`],
      ...[`${part(access_token, 0)}.${part(access_token, 1)}.`, `${part(access_token, 0)}.${part(access_token, 1)}.AA`],
      ...[`${refresh_token}x`, refresh_token.slice(0, -1)],
      forge(key, { ...header, typ: 'JWT' }, claims),
      forge(key, { ...header, typ: 'device-attestation+jwt' }, claims),
      forge(key, header, { ...claims, iss: 'https://evil.example' }),
      forge(key, header, { ...claims, exp: 1 }),
    ])
      for (const further of [{}, { token_type_hint: 'refresh_token' }] as Json[])
        expectDone(await revoke(token, webClient, further))
    await expectAlive(issued)
  })

  it('a request that is malformed', async () => {
    const issued = await issue()
    const { refresh_token: token } = issued
    const authorization = basic(webClient)
    for (const form of ['', 'token=', 'Token=x', `token=${token}&token=${token}`, 'token=%zz', `token[]=${token}`])
      expectRefusal(await ask(host, form, { authorization }), 400, 'invalid_request')
    const type = 'application/x-www-form-urlencoded'
    const inQuery = await fetch(`${host.server.issuer}/revoke?token=${token}`, {
      method: 'POST',
      headers: { authorization, 'content-type': type },
    })
    expectRefusal(await read(inQuery), 400, 'invalid_request')
    expectRefusal(await read(await fetch(`${host.server.issuer}/revoke`)), 405, 'invalid_request')
    await expectAlive(issued)
  })

  it('an access token within the tolerance is still accepted elsewhere, so it is still revoked', async () => {
    const issued = await issue()
    host.later(605_000)
    expect((await host.userinfo(issued.access_token)).status).toBe(200)
    expectDone(await revoke(issued.access_token, webClient))
    for (const milliseconds of [0, 4_000, 2_000]) {
      host.later(milliseconds)
      expectRefusal(await host.userinfo(issued.access_token), 401, 'invalid_token')
    }
  })

  it('tells the audit log what was ended, and of refusals', async () => {
    const issued = await issue()
    const { jti } = decode(issued.access_token, 1)
    const lineOf = async (answer: Answer) => {
      const id = answer.headers.get('x-request-id')
      return (await host.server.audit()).filter(({ request_id }) => request_id === id)
    }
    const common = { client_id: 'web', sub: subject }
    expect(await lineOf(await revoke(issued.access_token, webClient))).toMatchObject([
      { event: 'token.revoked', jti, ...common },
    ])
    expect(await lineOf(await revoke(issued.refresh_token, webClient))).toMatchObject([
      { event: 'grant.revoked', grant_id: issued.grantId, ...common },
    ])
    expect(await lineOf(await revoke('x', webClient))).toEqual([])
    expect(await lineOf(await ask(host, { token: 'x' }, {}))).toMatchObject([
      { event: 'client.refused', error: 'invalid_client' },
    ])
    expect(await lineOf(await ask(host, {}, { authorization: basic(webClient) }))).toMatchObject([
      { event: 'revocation.refused', error: 'invalid_request' },
    ])
    const text = JSON.stringify(await host.server.audit())
    expect(text).not.toContain(issued.refresh_token)
    expect(text).not.toContain(part(issued.access_token, 2))
  })
})

describe('/revoke in an outage', () => {
  it('RV03 the store is down: 503 with Retry-After, and the same request works afterwards', async () => {
    const faults: Faults = new Map()
    await using broken = await startTokenServer({ doubles: { stores: inBothRoles(failingStore(faults)) } })
    const cases: readonly (readonly [string, Fault, 'access_token' | 'refresh_token'])[] = [
      ['*', 'before', 'refresh_token'],
      ['refresh_families.find', 'before', 'refresh_token'],
      ['revocations.revoke', 'before', 'refresh_token'],
      ['revocations.revoke', 'after', 'refresh_token'],
      ['refresh_families.remove', 'before', 'refresh_token'],
      ['refresh_families.remove', 'after', 'refresh_token'],
      ['revocations.revoke', 'before', 'access_token'],
      ['revocations.revoke', 'after', 'access_token'],
    ]
    for (const client of [webClient, publicClient])
      for (const [verb, fault, member] of cases) {
        const issued = await issue(client, broken)
        faults.set(verb, fault)
        const answer = await revoke(issued[member], client, {}, broken)
        expectRefusal(answer, 503, 'temporarily_unavailable')
        expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
        faults.clear()
        expectDone(await revoke(issued[member], client, {}, broken))
        if (member === 'refresh_token') await expectDead(issued, broken)
        else expectRefusal(await broken.userinfo(issued.access_token), 401, 'invalid_token')
      }
  })

  it('RV03 the audit log cannot be written: 503, and the grant is dead all the same', async () => {
    const lost = new Set(['grant.revoked'])
    const doubles = { audit: failingAudit(lost) }
    await using broken = await startTokenServer({ doubles })
    const issued = await issue(webClient, broken)
    const answer = await revoke(issued.refresh_token, webClient, {}, broken)
    expectRefusal(answer, 503, 'temporarily_unavailable')
    await expectDead(issued, broken)
    lost.clear()
    expectDone(await revoke(issued.refresh_token, webClient, {}, broken))
    expect((await broken.server.audit()).filter(({ event }) => event === 'grant.revoked')).toHaveLength(1)
  })
})
