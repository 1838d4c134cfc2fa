import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { cachedSeconds } from '../../core/oauth/clients/client-directory.js'
import { addAccount, openAccountStore, removeAccount, type AccountStore } from '../../core/interaction/accounts.js'
import { createPasswordHasher } from '../../core/interaction/password-hasher.js'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import type { Client } from '../../core/oauth/clients/client.js'
import { hashOpaqueToken, newOpaqueToken } from '../../core/opaque-token.js'
import { basic } from '../support/clients/clients.js'
import { collectionsOf } from '../support/forge/mint.js'
import { expectRefusal, startTokenServer, type Answer, type TokenServer } from '../support/server/token-server.js'
import { chaosNamed } from '../support/signers/chaos-signer/commands.js'
import { deviceGrant } from '../support/clients/device.js'
import { redirectUri } from '../support/server/server.js'

// The signer holds the signature back until what it is for has ended.

const name = randomUUID()
const chaos = chaosNamed(name)
const scope = ['openid', 'offline_access', 'read']
const metadata = {
  client_id: 'stored',
  client_secret: 'stored-secret-of-more-than-256-bits-for-tests',
  redirect_uris: [redirectUri],
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials', deviceGrant],
  scope: scope.join(' '),
}
const { client } = parseClientMetadata(metadata, scope) as { client: Client }
const person = { username: 'eve', password: 'correct battery staple horse', sub: 'eve-1' }

let host: TokenServer
let accounts: AccountStore
const stored = () => collectionsOf(host.store)
/** The account alone: what its sign-ins opened is not ended beside it. */
const remove = () => removeAccount(accounts, person.username, () => Promise.resolve())

beforeAll(async () => {
  host = await startTokenServer({
    configure: (written) => ({
      ...written,
      signers: {
        chaos: {
          use: fileURLToPath(new URL('../support/signers/chaos-signer/index.ts', import.meta.url)),
          options: { name },
        },
      },
      keys: [{ kid: 'es256', alg: 'ES256', signer: 'chaos', ref: 'es256' }],
      plugins: [...(written['plugins'] as object[]), { use: 'plugins/grants/device-code' }],
    }),
  })
  accounts = openAccountStore(host.store)
})
afterAll(() => host[Symbol.asyncDispose]())
beforeEach(async () => {
  await stored().clients.put(client.client_id, client)
  await remove()
  await addAccount(accounts, createPasswordHasher(), person)
  host.later(cachedSeconds * 1000)
})

const granted = { clientId: client.client_id, subject: person.sub, scope }

/** Each of what a client can redeem, with the grant that it continues. */
const redeemables = {
  code: async () => {
    const { code, grantId } = await host.mint.code(granted)
    return { grantId, send: () => host.redeem(code, {}, metadata) }
  },
  'refresh token': async () => {
    const { token, grantId } = await host.mint.refreshToken(granted)
    return { grantId, send: () => host.refresh(token, {}, metadata) }
  },
  'device code': async () => {
    const [code, userCode, grantId] = [newOpaqueToken(), randomUUID(), randomUUID()]
    const approval = { grantId, ...granted, resource: [host.server.issuer], authentication: authentication() }
    const { deviceCodes } = stored()
    const request = { clientId: client.client_id, scope, resource: [host.server.issuer], address: '', askedAt: 0 }
    await deviceCodes.start(hashOpaqueToken(code), { userCode, request, intervalSeconds: 5 }, 600)
    await deviceCodes.decide(userCode, { approval })
    const form = { grant_type: deviceGrant, device_code: code }
    return { grantId, send: () => host.token(form, { authorization: basic(metadata) }) }
  },
}
const authentication = () => ({ auth_time: Math.floor(host.now() / 1000) })

/** Sends, and ends something when the signer was asked. */
const whileSigning = async (send: () => Promise<Answer>, end: () => Promise<unknown>): Promise<Answer> => {
  let open = () => {}
  chaos.gate = new Promise((resolve) => (open = resolve))
  const before = chaos.calls
  try {
    const answer = send()
    await expect.poll(() => chaos.calls).toBeGreaterThan(before)
    await end()
    open()
    return await answer
  } finally {
    open()
    chaos.gate = undefined
  }
}

describe.each(Object.entries(redeemables))('a %s', (_, make) => {
  it('gives tokens while nothing ends', async () => {
    const { send } = await make()
    expect((await whileSigning(send, () => Promise.resolve())).status).toBe(200)
  })

  it('CC13 the account is removed, or disabled, while the signer works', async () => {
    const { send } = await make()
    expectRefusal(await whileSigning(send, remove), 400, 'invalid_grant')
    await addAccount(accounts, createPasswordHasher(), person)
    const record = await accounts.accounts.find(person.username)
    const again = await make()
    const disable = () => accounts.accounts.put(person.username, { ...record!, disabled: true })
    expectRefusal(await whileSigning(again.send, disable), 400, 'invalid_grant')
  })

  it('TK04 the client is removed, or disabled, while the signer works', async () => {
    const end = (change: () => Promise<unknown>) => async () => {
      await change()
      host.later(cachedSeconds * 1000)
    }
    const { clients } = stored()
    const { send } = await make()
    expectRefusal(
      await whileSigning(
        send,
        end(() => clients.remove(client.client_id)),
      ),
      401,
      'invalid_client',
    )
    await clients.put(client.client_id, client)
    host.later(cachedSeconds * 1000)
    const again = await make()
    const disable = () => clients.put(client.client_id, { ...client, disabled: true })
    expectRefusal(await whileSigning(again.send, end(disable)), 401, 'invalid_client')
  })

  it('TK05 the grant is revoked while the signer works', async () => {
    const { grantId, send } = await make()
    const revoke = () => stored().revocations.revoke(grantId, 600)
    expectRefusal(await whileSigning(send, revoke), 400, 'invalid_grant')
  })
})

it('TK05 a refresh token of a revoked grant costs one signature, however often it comes', async () => {
  const { grantId, send } = await redeemables['refresh token']()
  await stored().revocations.revoke(grantId, 600)
  expectRefusal(await send(), 400, 'invalid_grant')
  const signed = async () => (await host.server.audit()).filter(({ event }) => event === 'token.signed').length
  const before = await signed()
  expect(before).toBeGreaterThan(0)
  expectRefusal(await send(), 400, 'invalid_grant')
  expectRefusal(await send(), 400, 'invalid_grant')
  expect(await signed()).toBe(before)
})

it('TK04 a client is removed while a token of its own is signed', async () => {
  const form = { grant_type: 'client_credentials', scope: 'read' }
  const send = () => host.token(form, { authorization: basic(metadata) })
  const removeClient = async () => {
    await stored().clients.remove(client.client_id)
    host.later(cachedSeconds * 1000)
  }
  expectRefusal(await whileSigning(send, removeClient), 401, 'invalid_client')
})
