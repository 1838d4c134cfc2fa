import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashOpaqueToken, newOpaqueToken } from '../../core/opaque-token.js'
import { collectionsOf } from '../support/forge/mint.js'
import {
  expectRefusal,
  postForm,
  startTokenServer,
  type Answer,
  type TokenServer,
} from '../support/server/token-server.js'
import { publicClient, subject } from '../support/server/server.js'

let host: TokenServer
beforeAll(async () => {
  host = await startTokenServer()
})
afterAll(() => host[Symbol.asyncDispose]())

const tokenOf = (answer: Answer): string => {
  expect(answer.status).toBe(200)
  return String(answer.body['refresh_token'])
}
const revoke = (token: string) => postForm(`${host.server.issuer}/revoke`, { client_id: publicClient.client_id, token })
const events = async (grantId: string) =>
  (await host.server.audit())
    .filter(({ event, grant_id }) => grant_id === grantId && /^(?:refresh\.reused|grant\.revoked)$/.test(String(event)))
    .map(({ event }) => event)

describe('what ends a family of refresh tokens', () => {
  it('TK06 not what the store has, and not how a token begins', async () => {
    const { token, family, grantId } = await host.mint.refreshToken()
    const invented = newOpaqueToken()
    const forgeries = [
      ...[family + invented, invented + family, token.slice(0, 43) + family, family + token.slice(0, 43)],
      ...[22, 43, 64, 80].map((length) => (token.slice(0, length) + invented + invented).slice(0, 86)),
      ...[22, 42].map((length) => token.slice(0, length) + invented),
      family.slice(0, 22) + invented,
      hashOpaqueToken(token) + family,
    ]
    for (const forgery of forgeries) {
      expectRefusal(await host.refresh(forgery), 400, 'invalid_grant')
      expect((await revoke(forgery)).status).toBe(200)
    }
    expect(await events(grantId)).toEqual([])
    expect((await host.refresh(token)).status).toBe(200)
  })

  it('TK06 the store has neither half of a token', async () => {
    const { token, family } = await host.mint.refreshToken()
    const record = JSON.stringify([family, await collectionsOf(host.store).families.find(family)])
    for (const half of [token.slice(0, 43), token.slice(43)])
      for (let at = 0; at + 12 <= half.length; at++) expect(record).not.toContain(half.slice(at, at + 12))
  })

  it('TK07 a token that was replaced, however long ago', async () => {
    const { token, grantId } = await host.mint.refreshToken()
    let last = token
    for (let rotation = 0; rotation < 3; rotation++) last = tokenOf(await host.refresh(last))
    expect(last.slice(43)).toBe(token.slice(43))
    expect(last.slice(0, 43)).not.toBe(token.slice(0, 43))
    expectRefusal(await host.refresh(token), 400, 'invalid_grant')
    expect(await events(grantId)).toEqual(['refresh.reused'])
    expectRefusal(await host.refresh(last), 400, 'invalid_grant')
  })

  it('TK08 tokens of the earlier form rotate in their own form, and one that was replaced ends the family', async () => {
    const earlier = newOpaqueToken().slice(0, 22) + newOpaqueToken()
    const [family, grantId] = [earlier.slice(0, 22), newOpaqueToken()]
    const scope = ['openid', 'offline_access']
    const authentication = { auth_time: Math.floor(host.now() / 1000) }
    const grant = { grantId, clientId: publicClient.client_id, subject, scope, resource: [], authentication }
    const record = { grant, current: hashOpaqueToken(earlier), absoluteExpiry: host.now() + 600_000 }
    await collectionsOf(host.store).families.start(family, record, 600)
    const second = tokenOf(await host.refresh(earlier))
    expect(second).toMatch(new RegExp(`^${family}[\\w-]{43}$`))
    expect(tokenOf(await host.refresh(earlier))).toBe(second)
    const third = tokenOf(await host.refresh(second))
    expectRefusal(await host.refresh(earlier), 400, 'invalid_grant')
    expectRefusal(await host.refresh(third), 400, 'invalid_grant')
    expect(await events(grantId)).toEqual(['refresh.reused'])
  })
})
