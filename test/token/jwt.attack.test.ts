import { generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { person, subject, webClient } from '../support/server/server.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { signedClient } from '../support/clients/clients.js'
import { decode, forge, part } from '../support/forge/forge.js'
import { authorizeUrl, verifier } from '../support/forge/mint.js'
import { expectRefusal, startTokenServer, type TokenServer } from '../support/server/token-server.js'

// The two doors through which a token of ours comes back: /userinfo and id_token_hint. Most of these tokens are signed
// with the issuer's own key, so that nothing but the rule under test can refuse them.

let host: TokenServer
let key: KeyObject
let agent: UserAgent
let accessToken: string
let idToken: string

beforeAll(async () => {
  host = await startTokenServer()
  key = await host.key()
  agent = new UserAgent()
  const callback = await agent.authorize(authorizeUrl(host.server.issuer), person)
  const answer = await host.redeem(callback.searchParams.get('code') ?? '', { code_verifier: verifier })
  accessToken = String(answer.body['access_token'])
  idToken = String(answer.body['id_token'])
})
afterAll(() => host[Symbol.asyncDispose]())

/** What /authorize says to a hint: `code`, or the error. */
const hint = async (id_token_hint: string): Promise<string | null> => {
  const { left } = await agent.follow(authorizeUrl(host.server.issuer, { id_token_hint, prompt: 'none' }))
  return left?.searchParams.has('code') === true ? 'code' : (left?.searchParams.get('error') ?? null)
}

const expectRefusedByUserinfo = async (token: string): Promise<void> => {
  const answer = await host.userinfo(token)
  expectRefusal(answer, 401, 'invalid_token')
  expect(answer.text).not.toContain('Alice')
}

/** Refused at both doors. */
const expectRefused = async (access: string, id: string): Promise<void> => {
  await expectRefusedByUserinfo(access)
  expect(await hint(id)).toBe('invalid_request')
}

afterEach(async () => {
  expect((await host.userinfo(accessToken)).status).toBe(200)
  expect(await hint(idToken)).toBe('code')
})

type Change = Readonly<Record<string, unknown>>
const access = (claims: Change, header: Change = {}): string =>
  forge(key, { ...decode(accessToken, 0), ...header }, { ...decode(accessToken, 1), jti: randomUUID(), ...claims })
const id = (claims: Change, header: Change = {}): string =>
  forge(key, { ...decode(idToken, 0), ...header }, { ...decode(idToken, 1), ...claims })
const text = (bytes: string): string => Buffer.from(bytes).toString('base64url')

describe('tokens of ours that come back', () => {
  it('the forgery is as good as a token of ours while nothing in it is wrong', async () => {
    expect((await host.userinfo(access({}))).status).toBe(200)
    expect(await hint(id({}))).toBe('code')
  })

  it('JW01 JSON serialization, other numbers of segments, b64, crit', async () => {
    const json = (token: string) => {
      const [protectedHeader, payload, signature] = token.split('.')
      return [
        JSON.stringify({ protected: protectedHeader, payload, signature }),
        JSON.stringify({ payload, signatures: [{ protected: protectedHeader, signature }] }),
      ]
    }
    const spellings = (token: string): string[] => {
      const [head = '', body = '', tail = ''] = token.split('.')
      return [
        ...json(token),
        ...[`${head}.${body}`, `${head}.${body}.`, `${head}..${tail}`, `.${body}.${tail}`, `${token}.`, `.${token}`],
        ...[`${token}.${tail}`, `${head}.${head}.${body}.${tail}.${tail}`, head, '..', '.', `${head}.${tail}.${body}`],
      ]
    }
    const ofAccess = spellings(accessToken)
    const ofId = spellings(idToken)
    for (const [index, token] of ofAccess.entries()) await expectRefused(token, ofId[index] ?? '')
    for (const header of [
      { b64: false },
      { b64: true },
      { crit: ['b64'], b64: false },
      { crit: [] },
      { crit: ['exp'] },
    ])
      await expectRefused(access({}, header), id({}, header))
  })

  it('JW02 base64url that is not canonical', async () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    // 64 bytes leave four bits of the last character unused.
    const trailing = (token: string) => token.slice(0, -1) + (alphabet[alphabet.indexOf(token.at(-1) ?? '') ^ 1] ?? '')
    const spellings = (token: string): string[] => {
      const [head = '', body = '', tail = ''] = token.split('.')
      return [
        ...[trailing(token), `${token}=`, `${token}==`, `${head}=.${body}.${tail}`, `${head}.${body}=.${tail}`],
        ...[`${token}\n`, ` ${token}`, `${token} `, `${head}.\t${body}.${tail}`, `${head}%2E${body}.${tail}`],
        `${head}.${body}.${Buffer.from(tail, 'base64url').toString('base64')}`,
        `${head}.${body}.${tail}A`,
      ]
    }
    const ofAccess = spellings(accessToken)
    const ofId = spellings(idToken)
    for (const [index, token] of ofAccess.entries()) {
      // A header cannot carry a line break, and blanks around its value mean nothing (RFC 9110 §5.5).
      if (!/\s/.test(token)) await expectRefusedByUserinfo(token)
      const body = new URLSearchParams({ access_token: token })
      expect((await fetch(`${host.server.issuer}/userinfo`, { method: 'POST', body })).status).toBe(401)
      expect(await hint(ofId[index] ?? '')).toBe('invalid_request')
    }
  })

  it('JW03 a member twice, in the header, the claims, or deeper', async () => {
    const doubled = (token: string, index: number, members: string): string => {
      const json = JSON.stringify(decode(token, index))
      const changed = `{${members},${json.slice(1)}`
      return index === 0 ? forge(key, changed, decode(token, 1)) : forge(key, decode(token, 0), changed)
    }
    for (const [index, members] of [
      [0, '"alg":"ES256"'],
      [0, '"typ":"x"'],
      [0, '"\\u0074yp":"x"'],
      [0, '"kid":"x"'],
      [1, '"sub":"eve"'],
      [1, `"sub":"${subject}"`],
      [1, '"\\u0073ub":"eve"'],
      [1, '"exp":1'],
      [1, '"aud":"x"'],
      [1, '"x":{"a":1,"a":2}'],
      [1, '"x":[{"a":1,"\\u0061":2}]'],
    ] as const)
      await expectRefused(doubled(accessToken, index, members), doubled(idToken, index, members))
    const header = text(JSON.stringify(decode(accessToken, 0)))
    for (const claims of ['[]', 'null', '"x"', '1', '{', '', '{}x', '\u{feff}{}', '{"a":1}{"a":1}'])
      await expectRefusedByUserinfo(`${header}.${text(claims) || 'AA'}.${part(accessToken, 2)}`)
  })

  it.each([
    ['text', String(Math.floor(Date.now() / 1000) + 600)],
    ['1e308', 1e308],
    ['2^53', 2 ** 53],
    ['negative', -1],
    ['zero', 0],
    ['null', null],
    ['true', true],
    ['a list', [Math.floor(Date.now() / 1000) + 600]],
    ['an object', { valueOf: 4_000_000_000 }],
    ['missing', undefined],
  ])('JW06 exp, iat or nbf: %s', async (_, value) => {
    await expectRefusedByUserinfo(access({ exp: value }))
    if (typeof value !== 'number' || value > 0) {
      await expectRefusedByUserinfo(access({ iat: value }))
      expect(await hint(id({ exp: value }))).toBe('invalid_request')
      expect(await hint(id({ iat: value }))).toBe('invalid_request')
      if (value !== undefined) await expectRefused(access({ nbf: value }), id({ nbf: value }))
    }
  })

  it('JW06 numbers that JSON can spell and JavaScript cannot hold', async () => {
    for (const number of ['1e400', '-0.1', '9007199254740993', '1e-400']) {
      const claims = JSON.stringify(decode(accessToken, 1)).replace(/"exp":\d+/, `"exp":${number}`)
      await expectRefusedByUserinfo(forge(key, decode(accessToken, 0), claims))
    }
    const soon = Math.floor(Date.now() / 1000)
    await expectRefused(access({ iat: soon + 60 }), id({ iat: soon + 60 }))
    await expectRefused(access({ nbf: soon + 60 }), id({ nbf: soon + 60 }))
  })

  it('JW07 one kind of token for another', async () => {
    const typed = [
      'JWT',
      'jwt',
      'text/at+jwt',
      'application/jwt',
      'at+jwt ',
      'logout+jwt',
      'userinfo+jwt',
      'x',
      '',
      null,
    ]
    for (const typ of [...typed, undefined, ['at+jwt']]) await expectRefusedByUserinfo(access({}, { typ }))
    for (const typ of ['at+jwt', 'jwt ', 'text/jwt', 'logout+jwt', 'userinfo+jwt', '', null, undefined, ['JWT']])
      expect(await hint(id({}, { typ }))).toBe('invalid_request')
    await expectRefused(idToken, accessToken)
    // A logout token, though its type were a mere JWT, speaks to the client of another.
    expect(await hint(id({ aud: 'app', events: {} }))).toBe('invalid_request')
    expect(await hint(id({ aud: ['web', 'app'] }))).toBe('invalid_request')

    const { code } = await host.mint.code({ clientId: 'signed' })
    const issued = await host.redeem(code, {}, signedClient)
    const userinfo = await host.userinfo(String(issued.body['access_token']))
    await expectRefused(userinfo.text, userinfo.text)
    const assertion = { client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' }
    for (const client_assertion of [idToken, accessToken]) {
      const form = { grant_type: 'client_credentials', client_id: 'web', ...assertion, client_assertion }
      expectRefusal(await host.token(form), 401, 'invalid_client')
    }
  })

  it('JW07 another key, algorithm or issuer', async () => {
    const foreign = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
    const headers = [decode(accessToken, 0), decode(idToken, 0)] as const
    const claims = [decode(accessToken, 1), decode(idToken, 1)] as const
    await expectRefused(forge(foreign, headers[0], claims[0]), forge(foreign, headers[1], claims[1]))
    const jwk = generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export({ format: 'jwk' })
    for (const more of [{ jwk }, { jku: 'http://127.0.0.1:9/jwks' }, { x5u: 'http://127.0.0.1:9/x' }, { x5c: ['AA'] }])
      await expectRefused(
        forge(foreign, { ...headers[0], ...more }, claims[0]),
        forge(foreign, { ...headers[1], ...more }, claims[1]),
      )
    for (const alg of ['none', 'NONE', 'HS256', 'ES384', 'RS256', 'es256', '', null, undefined, ['ES256'], {}])
      await expectRefused(access({}, { alg }), id({}, { alg }))
    for (const kid of ['other', '../keys/es256.pem', "' OR 1=1", '__proto__', 'x'.repeat(4000), null, undefined, {}, 1])
      await expectRefused(access({}, { kid }), id({}, { kid }))
    const unsigned = `${text('{"alg":"none","typ":"at+jwt"}')}.${part(accessToken, 1)}.`
    await expectRefused(unsigned, `${text('{"alg":"none","typ":"JWT"}')}.${part(idToken, 1)}.`)
    const secret = part(accessToken, 0)
    const der = sign('sha256', Buffer.from(`${secret}.${part(accessToken, 1)}`), key).toString('base64url')
    await expectRefusedByUserinfo(`${secret}.${part(accessToken, 1)}.${der}`)
    await expectRefusedByUserinfo(`${secret}.${part(accessToken, 1)}.${'A'.repeat(86)}`)
    const { issuer } = host.server
    for (const iss of [`${issuer}/`, issuer.toUpperCase(), 'https://evil.example', '', null, undefined])
      await expectRefused(access({ iss }), id({ iss }))
  })

  it('JW08 magic names among the claims', async () => {
    const magic = (token: string, members: string): string => {
      const json = JSON.stringify(decode(token, 1))
      return forge(key, decode(token, 0), `{${members},${json.slice(1)}`)
    }
    for (const members of [
      '"__proto__":{"scope":"openid profile email","admin":true,"disabled":false}',
      '"constructor":{"prototype":{"admin":true}}',
      '"prototype":{"admin":true},"toString":1,"hasOwnProperty":null,"valueOf":"x"',
      '"userinfo_claims":["__proto__","constructor","toString","hasOwnProperty"]',
    ]) {
      const answer = await host.userinfo(magic(accessToken, members))
      expect(answer).toMatchObject({ status: 200, body: { sub: subject } })
      expect(Object.keys(answer.body)).not.toContain('constructor')
      expect(answer.text).not.toMatch(/admin|native code/)
      expect(await hint(magic(idToken, members))).toBe('code')
    }
    const claims = { ...decode(accessToken, 1), sub: undefined }
    await expectRefusedByUserinfo(
      forge(key, decode(accessToken, 0), `{"__proto__":{"sub":"${subject}"},${JSON.stringify(claims).slice(1)}`),
    )
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined()
  })

  it('JW09 iss, sub, aud, jti, client_id as objects and lists', async () => {
    const { issuer } = host.server
    for (const value of [{}, [], [subject], { toString: subject }, 1, true, null, ['a', 1], [[issuer]], undefined]) {
      for (const name of ['iss', 'sub', 'jti', 'client_id', 'aud'])
        await expectRefusedByUserinfo(access({ jti: randomUUID(), [name]: value }))
      for (const name of ['iss', 'sub', 'aud']) expect(await hint(id({ [name]: value }))).toBe('invalid_request')
    }
    for (const iss of [[issuer], { 0: issuer }]) await expectRefused(access({ iss }), id({ iss }))
    for (const aud of [[issuer, 1], [issuer, null], [{ [issuer]: 1 }], [[issuer]], { 0: issuer }, `${issuer} x`])
      await expectRefusedByUserinfo(access({ aud }))
    for (const aud of [['web'], ['web', 1], { 0: 'web' }]) expect(await hint(id({ aud }))).toBe('invalid_request')
    expect((await host.userinfo(access({ aud: ['https://api.example', issuer] }))).status).toBe(200)
    for (const scope of [['openid'], { openid: true }, 'OPENID', 'openidx', 1]) {
      const answer = await host.userinfo(access({ scope }))
      expectRefusal(answer, 403, 'insufficient_scope')
    }
  })

  it('a token that is large, deep, or bound to a key', async () => {
    const deep = (depth: number) => `{"x":${'['.repeat(depth)}${']'.repeat(depth)},`
    for (const claims of [deep(40), deep(3000), `{"x":"${'y'.repeat(7000)}",`])
      await expectRefusedByUserinfo(
        forge(key, decode(accessToken, 0), claims + JSON.stringify(decode(accessToken, 1)).slice(1)),
      )
    for (const cnf of [{ jkt: 'x' }, {}, null, 'x']) await expectRefusedByUserinfo(access({ cnf }))
    expect((await host.refresh('x', {}, webClient)).status).toBe(400)
  })
})
