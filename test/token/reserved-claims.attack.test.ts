import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { reservedClaims } from '../../core/tokens/claims.js'
import { decode } from '../support/forge/forge.js'
import { person, subject, webClient } from '../support/server/server.js'
import { startTokenServer, type TokenServer } from '../support/server/token-server.js'

const mark = 'from the account'
const names = [...reservedClaims].filter((name) => name !== 'sub' && name !== '__proto__')
/** Each reserved name, as a directory that is not ours might have it. */
const hostile = Object.fromEntries(names.map((name) => [name, mark]))
const asked = Object.fromEntries([...names, 'sub', 'roles'].map((name) => [name, null]))

let host: TokenServer
beforeAll(async () => {
  host = await startTokenServer({
    configure: (written) => ({
      ...written,
      scopes_supported: [...(written['scopes_supported'] as string[]), { name: 'staff', claims: ['roles'] }],
      claims: { roles: { from: 'client_id', in: ['access_token', 'id_token', 'userinfo'] } },
      clients: [webClient],
      accounts: [{ ...person, sub: subject, claims: hostile }],
    }),
  })
})
afterAll(() => host[Symbol.asyncDispose]())

describe('an account whose claims have the names of the protocol', () => {
  it('TK18 sets none of them, in no token and no answer, also when they are asked for', async () => {
    const scope = ['openid', 'staff', 'offline_access']
    const { code } = await host.mint.code({ scope, requestedClaims: { id_token: asked, userinfo: asked } })
    const { body } = await host.redeem(code)
    const refreshed = await host.refresh(String(body['refresh_token']), {}, webClient)
    for (const { access_token, id_token } of [body, refreshed.body]) {
      const answer = await host.userinfo(String(access_token))
      for (const given of [decode(String(access_token), 1), decode(String(id_token), 1), answer.body]) {
        // The claim that the configuration gives another name to, and nothing else.
        expect(given['roles']).toBe(mark)
        expect(Object.keys(given).filter((name) => given[name] === mark)).toEqual(['roles'])
        expect(given['sub']).toBe(subject)
      }
    }
  })
})
