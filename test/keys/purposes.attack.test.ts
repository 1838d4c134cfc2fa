import { createPrivateKey, randomUUID, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { redirectUri, webClient } from '../support/server/server.js'
import { basic } from '../support/clients/clients.js'
import { decode, forge } from '../support/forge/forge.js'
import { authorizeUrl } from '../support/forge/mint.js'
import { expectRefusal, postForm, startTokenServer, type TokenServer } from '../support/server/token-server.js'

// A key in a weaker signer is worth no more than what it may sign.

const local = { alg: 'ES256', signer: 'local' }
let host: TokenServer
/** May sign userinfo answers alone. */
let weak: KeyObject

beforeAll(async () => {
  host = await startTokenServer({
    configure: (written) => ({
      ...written,
      keys: [
        { ...local, kid: 'es256', ref: 'es256.pem', purposes: ['access_token', 'id_token', 'introspection'] },
        { ...local, kid: 'weak', ref: 'weak.pem', purposes: ['userinfo'] },
      ],
    }),
  })
  weak = createPrivateKey(await readFile(join(host.server.directory, 'keys', 'weak.pem')))
})
afterAll(() => host[Symbol.asyncDispose]())

const issue = async () => {
  const { code } = await host.mint.code()
  const { body } = await host.redeem(code)
  return { access: String(body['access_token']), id: String(body['id_token']) }
}
/** The same token with another `jti`, signed by `key` under its own name. */
const forged = (token: string, key: KeyObject, kid: string): string => {
  const claims = decode(token, 1)
  const [grantId] = String(claims['jti']).split('.')
  return forge(key, { ...decode(token, 0), kid }, { ...claims, jti: `${grantId}.${randomUUID()}` })
}
const introspect = async (token: string) =>
  (await postForm(`${host.server.issuer}/introspect`, { token }, { authorization: basic(webClient) })).body
const hint = async (id_token_hint: string) => {
  const url = authorizeUrl(host.server.issuer, { redirect_uri: redirectUri, id_token_hint, prompt: 'none' })
  const reply = await fetch(url, { redirect: 'manual' })
  return new URL(reply.headers.get('location') ?? '').searchParams.get('error')
}

describe('a key without the purpose verifies no token of that kind', () => {
  it('TK09 an access token signed by a key for userinfo', async () => {
    const { access } = await issue()
    const good = forged(access, await host.key(), 'es256')
    expect((await host.userinfo(good)).status).toBe(200)
    expect(await introspect(good)).toMatchObject({ active: true })
    const bad = forged(access, weak, 'weak')
    for (let attempt = 0; attempt < 2; attempt++) {
      expectRefusal(await host.userinfo(bad), 401, 'invalid_token')
      expect(await introspect(bad)).toEqual({ active: false })
    }
  })

  it('TK11 an id_token_hint signed by a key for userinfo', async () => {
    const { id } = await issue()
    expect(await hint(forged(id, await host.key(), 'es256'))).toBe('login_required')
    expect(await hint(forged(id, weak, 'weak'))).toBe('invalid_request')
  })
})
