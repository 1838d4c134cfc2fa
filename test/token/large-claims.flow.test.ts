import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { decode } from '../support/forge/forge.js'
import { expectRefusal, startTokenServer, type Answer, type TokenServer } from '../support/server/token-server.js'
import { person, serviceClient, subject, webClient } from '../support/server/server.js'

const picture = `data:image/png;base64,${'A'.repeat(7000)}`
const claims = { name: 'Alice Adams', nickname: 'n'.repeat(2500), picture, profile: 'p'.repeat(70_000) }
const resources = Array.from({ length: 60 }, (_, index) => `https://api-${index}.example/${'x'.repeat(120)}`)
const web = { ...webClient, allowed_audiences: resources }
const service = { ...serviceClient, allowed_audiences: resources }
/** Gets claims in its access tokens. */
const roomy = { ...webClient, client_id: 'roomy' }
const signed = { ...webClient, client_id: 'signed', userinfo_signed_response_alg: 'ES256' }

let host: TokenServer
beforeAll(async () => {
  host = await startTokenServer({
    configure: (written) => ({
      ...written,
      claims: { picture: { in: ['access_token'], for: ['roomy'] }, nickname: { in: ['access_token'], for: ['roomy'] } },
      clients: [web, service, signed, roomy],
      accounts: [{ ...person, sub: subject, claims }],
    }),
  })
})
afterAll(() => host[Symbol.asyncDispose]())

const asking = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, null]))
const lines = async (event: string) => (await host.server.audit()).filter((line) => line['event'] === event)
const line = async (event: string, { headers }: Answer) =>
  (await lines(event)).find(({ request_id }) => request_id === headers.get('x-request-id'))

describe('claims that make a token too long', () => {
  it('TK13 what was asked for is left out, the largest first and no more than needed, and the audit log says so', async () => {
    const { code } = await host.mint.code({ requestedClaims: { id_token: asking(Object.keys(claims)) } })
    const answer = await host.redeem(code)
    expect(answer.status).toBe(200)
    const idToken = decode(String(answer.body['id_token']), 1)
    expect(idToken).toMatchObject({ sub: subject, name: claims.name, nickname: claims.nickname })
    expect(idToken).not.toHaveProperty('picture')
    expect(idToken).not.toHaveProperty('profile')
    const { jti } = decode(String(answer.body['access_token']), 1)
    const issued = (await lines('token.issued')).find((entry) => entry['jti'] === jti)
    expect(issued).toMatchObject({ claims_dropped: ['profile', 'picture'] })
    expect((await host.userinfo(String(answer.body['access_token']))).body).toEqual({ sub: subject, ...claims })
  })

  it('TK13 an access token leaves out what the configuration adds and it has no room for', async () => {
    const requestedClaims = { userinfo: asking(['sub', 'name', 'picture']) }
    const { code } = await host.mint.code({ clientId: 'roomy', scope: ['openid', 'profile'], requestedClaims })
    const answer = await host.redeem(code, {}, roomy)
    const token = decode(String(answer.body['access_token']), 1)
    expect(token).toMatchObject({ sub: subject, nickname: claims.nickname, userinfo_claims: ['sub', 'name'] })
    expect(token).not.toHaveProperty('picture')
    const issued = (await lines('token.issued')).find(({ jti }) => jti === token['jti'])
    expect(issued).toMatchObject({ claims_dropped: ['picture'] })
  })

  it('TK13 a token that is too long by what is essential to it is refused, unsigned, and nothing is used up', async () => {
    const before = (await lines('token.signed')).length
    const form: [string, string][] = [['grant_type', 'client_credentials'], ...all()]
    expectRefusal(await host.token(form, { authorization: basic(service) }), 400, 'invalid_request')
    const { code } = await host.mint.code({ resource: resources, requestedClaims: { userinfo: asking(['name']) } })
    expectRefusal(await host.redeem(code), 400, 'invalid_request')
    expect(await lines('token.signed')).toHaveLength(before)
    expect((await host.redeem(code, { resource: resources[0] })).status).toBe(200)
  })

  it('TK14 a signed answer of /userinfo leaves out what it has no room for', async () => {
    const { code } = await host.mint.code({ clientId: 'signed', scope: ['openid', 'profile'] })
    const { body } = await host.redeem(code, {}, signed)
    const answer = await host.userinfo(String(body['access_token']))
    expect(answer.status).toBe(200)
    const { profile, ...rest } = claims
    expect(decode(answer.text, 1)).toMatchObject({ sub: subject, ...rest })
    expect(decode(answer.text, 1)).not.toHaveProperty('profile')
    expect(await line('userinfo.released', answer)).toMatchObject({ claims_dropped: ['profile'] })
    expect(profile).toHaveLength(70_000)
  })
})

const all = () => resources.map((resource): [string, string] => ['resource', resource])
