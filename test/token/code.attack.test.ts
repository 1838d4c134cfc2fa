import { describe, expect, it } from 'vitest'
import { openAccountStore, addAccount } from '../../core/interaction/accounts.js'
import { createPasswordHasher } from '../../core/interaction/password-hasher.js'
import { newOpaqueToken } from '../../core/opaque-token.js'
import { publicClient, redirectUri, serviceClient, webClient } from '../support/server/server.js'
import { basic, otherClient } from '../support/clients/clients.js'
import { challenge, verifier } from '../support/forge/mint.js'
import { expectRefusal, read } from '../support/server/token-server.js'
import { host, setUpTokens } from '../support/server/token-set-up.js'

setUpTokens()

const events = async (name: string) => (await host.server.audit()).filter(({ event }) => event === name)

describe('authorization codes at /token', () => {
  it.each([
    ['a confidential client', webClient],
    ['a public client', publicClient],
  ])('CC01 of %s: a code replayed after success gives nothing and ends what the first use gave', async (_, client) => {
    const { code, grantId } = await host.mint.code({ clientId: client.client_id })
    const first = await host.redeem(code, {}, client)
    expect(first.status).toBe(200)
    const { access_token: accessToken, refresh_token: refreshToken } = first.body
    expect((await host.userinfo(String(accessToken))).status).toBe(200)

    expectRefusal(await host.redeem(code, {}, client), 400, 'invalid_grant')
    expectRefusal(await host.userinfo(String(accessToken)), 401, 'invalid_token')
    expectRefusal(await host.refresh(String(refreshToken), {}, client), 400, 'invalid_grant')
    expectRefusal(await host.redeem(code, {}, client), 400, 'invalid_grant')
    expect(await events('code.reused')).toContainEqual(expect.objectContaining({ grant_id: grantId }))
  })

  it('CC01 a code that comes back after 30 seconds ends what it gave', async () => {
    const { code } = await host.mint.code()
    const { access_token: token } = (await host.redeem(code)).body
    host.later(30_000)
    expectRefusal(await host.redeem(code), 400, 'invalid_grant')
    expectRefusal(await host.userinfo(String(token)), 401, 'invalid_token')
  })

  it('CC01 a wrong guess at a used code neither works nor ends anything', async () => {
    const { code } = await host.mint.code()
    const first = await host.redeem(code)
    for (const wrong of [
      { code_verifier: 'x'.repeat(43) },
      { code_verifier: undefined },
      { redirect_uri: 'https://x' },
    ])
      expectRefusal(await host.redeem(code, wrong), 400, 'invalid_grant')
    expect((await host.userinfo(String(first.body['access_token']))).status).toBe(200)
  })

  it('CC03 another client with good credentials neither gets tokens nor ends those of the owner', async () => {
    const { code } = await host.mint.code()
    expectRefusal(await host.redeem(code, {}, otherClient), 400, 'invalid_grant')
    expectRefusal(await host.redeem(code, {}, publicClient), 400, 'invalid_grant')
    const owner = await host.redeem(code)
    expect(owner.status).toBe(200)
    expectRefusal(await host.redeem(code, {}, otherClient), 400, 'invalid_grant')
    expectRefusal(await host.redeem(code, {}, publicClient), 400, 'invalid_grant')
    expect((await host.userinfo(String(owner.body['access_token']))).status).toBe(200)
    expect((await host.refresh(String(owner.body['refresh_token']), {}, webClient)).status).toBe(200)
  })

  it.each([
    ['another', 'https://client.example/other'],
    ['with a slash', `${redirectUri}/`],
    ['with a query', `${redirectUri}?a=1`],
    ['re-cased', redirectUri.toUpperCase()],
    ['encoded once more', encodeURIComponent(redirectUri)],
    ['with a default port', 'https://client.example:443/cb'],
    ['not a URI', 'x'],
    ['left out', undefined],
    ['empty', ''],
  ])('CC04 redirect_uri %s', async (_, redirect_uri) => {
    const { code } = await host.mint.code()
    expectRefusal(await host.redeem(code, { redirect_uri }), 400, 'invalid_grant')
    expect((await host.redeem(code)).status).toBe(200)
  })

  it('CC04 one that was not sent to /authorize may be left out, and may not be another', async () => {
    const { code } = await host.mint.code({ redirectUriSent: false })
    expectRefusal(await host.redeem(code, { redirect_uri: 'https://client.example/other' }), 400, 'invalid_grant')
    expect((await host.redeem(code, { redirect_uri: undefined })).status).toBe(200)
  })

  it.each([
    ['CC05 left out', undefined],
    ['CC05 empty', ''],
    ['CC06 another', 'b'.repeat(43)],
    ['CC06 re-cased', verifier.toUpperCase()],
    ['CC06 one character less', verifier.slice(0, -1)],
    ['CC06 one character more', `${verifier}_`],
    ['CC06 the challenge itself (plain)', challenge],
    ['CC08 short', 'short'],
    ['CC08 of 129 characters', 'x'.repeat(129)],
    ['CC08 of 60,000 characters', 'x'.repeat(60_000)],
    ['CC08 with a blank', `${verifier.slice(0, 43)} `],
    ['CC08 not ASCII', 'ü'.repeat(43)],
    ['CC08 a newline at the end', `${verifier}\n`],
    ['CC08 null', 'null'],
  ])('%s: code_verifier', async (_, code_verifier) => {
    const { code } = await host.mint.code()
    expectRefusal(await host.redeem(code, { code_verifier }), 400, ['invalid_grant', 'invalid_request'])
    expect((await host.redeem(code)).status).toBe(200)
  })

  it('CC08 code_verifier twice, or as an array', async () => {
    const { code } = await host.mint.code()
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri }
    const authorization = basic(webClient)
    const body = new URLSearchParams(form).toString()
    for (const [more, error] of [
      [`&code_verifier=${verifier}&code_verifier=${verifier}`, 'invalid_request'],
      [`&code_verifier=${verifier}&code_verifier=`, 'invalid_request'],
      [`&code_verifier[]=${verifier}`, 'invalid_grant'],
      [`&code_verifier[0]=${verifier}`, 'invalid_grant'],
    ] as const)
      expectRefusal(await host.token(body + more, { authorization }), 400, error)
    expect((await host.redeem(code)).status).toBe(200)
  })

  it('CC07 a verifier for a code without a challenge', async () => {
    const { code } = await host.mint.code({ codeChallenge: '' })
    for (const code_verifier of [verifier, 'x'])
      expectRefusal(await host.redeem(code, { code_verifier }), 400, 'invalid_grant')
    expect((await host.redeem(code, { code_verifier: undefined })).status).toBe(200)
    const downgraded = await host.mint.code({ codeChallenge: '', clientId: 'app' })
    for (const code_verifier of [verifier, undefined])
      expectRefusal(await host.redeem(downgraded.code, { code_verifier }, publicClient), 400, 'invalid_grant')
  })

  it('CC09 an expired code, whose row still exists', async () => {
    const begun = host.now()
    host.stopAt(begun)
    const { code } = await host.mint.code({}, { ttlSeconds: 60 })
    const inTime = await host.mint.code({}, { ttlSeconds: 60 })
    host.stopAt(begun + 59_999)
    expect((await host.redeem(inTime.code)).status).toBe(200)
    host.stopAt(begun + 60_000)
    expectRefusal(await host.redeem(code), 400, 'invalid_grant')
    host.later(0)
  })

  it('CC10 a code truncated, extended, re-cased, padded', async () => {
    const { code } = await host.mint.code()
    const swapped = code.replace(/[a-z]/gi, (letter) =>
      letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
    )
    const spellings = [
      ...[code.slice(0, -1), code.slice(1), code.slice(0, 8), `${code}A`, `${code}=`, `A${code}`, swapped],
      ...[` ${code}`, `${code} `, `${code}\n`, `${code}.`, `${code}%`, `"${code}"`, '*', '.', '%', code.repeat(1000)],
      ...[`${code.replaceAll('-', '+').replaceAll('_', '/')}+`, newOpaqueToken(), 'true', '{"$ne":null}', '../codes'],
    ]
    for (const spelling of spellings) expectRefusal(await host.redeem(spelling), 400, 'invalid_grant')
    expectRefusal(await host.redeem(''), 400, 'invalid_request')
    expect((await host.redeem(code)).status).toBe(200)
  })

  it('CC11 a refresh token or an access token for a code, and the inverse', async () => {
    const { code } = await host.mint.code()
    const { token } = await host.mint.refreshToken({ clientId: 'web' })
    expectRefusal(await host.redeem(token), 400, 'invalid_grant')
    expectRefusal(await host.redeem(token.slice(0, 43)), 400, 'invalid_grant')
    expectRefusal(await host.redeem(token.slice(22)), 400, 'invalid_grant')
    for (const refresh of [code, `${code}${'A'.repeat(22)}`, `${'A'.repeat(22)}${code}`])
      expectRefusal(await host.refresh(refresh, {}, webClient), 400, 'invalid_grant')
    const first = await host.redeem(code)
    expect(first.status).toBe(200)
    for (const name of ['access_token', 'id_token'])
      for (const wrong of [await host.redeem(String(first.body[name])), await host.refresh(String(first.body[name]))])
        expectRefusal(wrong, 400, 'invalid_grant')
    expect((await host.refresh(token, {}, webClient)).status).toBe(200)
  })

  it('CC12 GET, other methods, and a code in the query', async () => {
    const { code } = await host.mint.code()
    const form = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
    const query = new URLSearchParams(form)
    const authorization = basic(webClient)
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await read(
        await fetch(`${host.server.issuer}/token?${query}`, { method, headers: { authorization } }),
      )
      expectRefusal(answer, 405, 'invalid_request')
      expect(answer.headers.get('allow')).toContain('POST')
    }
    for (const body of [new URLSearchParams(), query, new URLSearchParams({ grant_type: 'authorization_code' })])
      for (const search of [`?${query}`, `?code=${code}`]) {
        const answer = await read(
          await fetch(`${host.server.issuer}/token${search}`, { method: 'POST', body, headers: { authorization } }),
        )
        expectRefusal(answer, 400, 'invalid_request')
      }
    expect((await host.redeem(code)).status).toBe(200)
  })

  it('CC13 the account is removed or disabled between code and exchange, or the grant was revoked', async () => {
    const accounts = openAccountStore(host.store)
    const added = { username: 'bob', password: 'battery staple', sub: 'bob-1' }
    await addAccount(accounts, createPasswordHasher(), added)
    const fresh = () => host.mint.code({ subject: 'bob-1' })
    expect((await host.redeem((await fresh()).code)).status).toBe(200)

    const disabled = await fresh()
    const record = await accounts.accounts.find('bob')
    await accounts.accounts.put('bob', { ...record!, disabled: true })
    expectRefusal(await host.redeem(disabled.code), 400, 'invalid_grant')
    await accounts.accounts.put('bob', record!)
    expect((await host.redeem(disabled.code)).status).toBe(200)

    const gone = await fresh()
    await accounts.accounts.remove('bob')
    expectRefusal(await host.redeem(gone.code), 400, 'invalid_grant')
    const unknown = await host.mint.code({ subject: 'nobody' })
    expectRefusal(await host.redeem(unknown.code), 400, 'invalid_grant')

    const revoked = await host.mint.code()
    await host.store.revocations('revocations').revoke(revoked.grantId, 600)
    expectRefusal(await host.redeem(revoked.code), 400, 'invalid_grant')
  })
})

describe('grant_type at /token', () => {
  const ask = (grant_type: string | undefined, client: typeof webClient | typeof serviceClient = serviceClient) =>
    host.token({ grant_type }, { authorization: basic(client) })

  it('CC15 missing, unknown, or not registered for the client', async () => {
    for (const missing of [undefined, '']) expectRefusal(await ask(missing), 400, 'invalid_request')
    for (const unknown of [
      'password',
      'implicit',
      'Client_Credentials',
      'client_credentials ',
      ' ',
      '*',
      'x'.repeat(9000),
    ])
      expectRefusal(await ask(unknown), 400, 'unsupported_grant_type')
    for (const urn of ['device_code', 'token-exchange', 'jwt-bearer'])
      expectRefusal(await ask(`urn:ietf:params:oauth:grant-type:${urn}`), 400, 'unsupported_grant_type')
    expectRefusal(await ask('client_credentials', webClient), 400, 'unauthorized_client')
    expectRefusal(await ask('authorization_code'), 400, 'unauthorized_client')
    expectRefusal(await ask('refresh_token'), 400, 'unauthorized_client')
  })

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'prototype', 'size', 'get', '0', 'undefined'])(
    'CC16 %s is a name like any other',
    async (name) => {
      expectRefusal(await ask(name), 400, 'unsupported_grant_type')
    },
  )

  it('CC15 twice, or with brackets', async () => {
    const authorization = basic(serviceClient)
    const twice = 'grant_type=client_credentials&grant_type=client_credentials'
    expectRefusal(await host.token(twice, { authorization }), 400, 'invalid_request')
    for (const body of ['grant_type[]=client_credentials', 'grant_type[0]=client_credentials', 'GRANT_TYPE=x'])
      expectRefusal(await host.token(body, { authorization }), 400, 'invalid_request')
  })
})
