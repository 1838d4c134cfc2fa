import { randomUUID } from 'node:crypto'
import { SignJWT, UnsecuredJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { Contributions } from '../../core/api/index.js'
import { readDocument } from '../support/document.js'
import {
  alice,
  answerWith,
  claimsFor,
  methodOf,
  newAttempt,
  secret,
  signIn,
  useUpstreams,
  subjectOf,
  validate,
  visit,
} from '../support/server/upstream-attempts.js'

const upstreams = useUpstreams()
const create = (...options: Parameters<ReturnType<typeof upstreams>['create']>) => upstreams().create(...options)

describe('a sign-in at another OpenID Provider', () => {
  it('gives a subject that is a hash of iss and sub, and an account with the mapped claims', async () => {
    const contributed = await create({
      scope: 'openid profile email',
      claims: { name: 'name', mail: 'email' },
      userinfo: true,
    })
    const result = await signIn(contributed)
    const subject = subjectOf(upstreams().upstream.issuer, alice.sub)
    expect(result).toMatchObject({ outcome: 'passed', subject, amr: [] })
    const claims = { name: 'Alice Adams', mail: 'alice@corp.example' }
    expect(await contributed.accounts?.find(subject, AbortSignal.timeout(1000))).toEqual({ subject, claims })
    expect(upstreams().upstream.asked).toContain('POST /request')
  })

  it('authenticates with a client assertion of ours', async () => {
    const contributed = await create({
      client_id: 'signet-by-key',
      client_secret: undefined,
      token_endpoint_auth_method: 'private_key_jwt',
    })
    expect(await signIn(contributed)).toMatchObject({ outcome: 'passed' })
  })

  it('maps acr and amr, and takes a mapped claim as the subject', async () => {
    const contributed = await create({ subject: 'email', acr: { '1': 'urn:corp:1' }, amr: { otp: 'sms', hwk: 'hwk' } })
    expect(methodOf(contributed).amr).toEqual(['otp', 'hwk'])
    const attempt = newAttempt({ acrValues: ['1'] })
    const { answer, kept } = await visit(contributed, attempt)
    const more = { email: 'other@corp.example', acr: 'urn:corp:1', amr: ['pwd', 'sms'] }
    answerWith(upstreams().upstream, attempt, (nonce) =>
      upstreams().upstream.sign({ ...claimsFor(upstreams().upstream, nonce), ...more }),
    )
    const result = await methodOf(contributed).finish(kept, answer)
    expect(result).toEqual({ outcome: 'passed', subject: more.email, acr: '1', amr: ['otp'] })
  })

  it('passes on what the client asked for, and takes auth_time from the answer', async () => {
    const contributed = await create({ acr: { '1': 'urn:corp:1' } })
    let pushed: object = {}
    upstreams().upstream.provider.once(
      'pushed_authorization_request.success',
      ({ oidc }) => (pushed = { ...oidc.params }),
    )
    const asked = { maxAge: 60, prompt: 'login consent', loginHint: 'alice', acrValues: ['1', '0'], uiLocales: ['de'] }
    const result = await signIn(contributed, asked)
    expect(pushed).toMatchObject({
      ...{ max_age: '60', prompt: 'login', login_hint: 'alice', acr_values: 'urn:corp:1', ui_locales: 'de' },
      ...{ code_challenge_method: 'S256', scope: 'openid' },
    })
    expect(result).toMatchObject({ outcome: 'passed', authTime: expect.any(Number) as number })
  })

  it('lets nobody in who refuses at the provider', async () => {
    upstreams().upstream.person = undefined
    expect(await signIn(await create())).toEqual({ outcome: 'refused', why: 'refused at the provider' })
  })
})

describe('a logout token of the provider', () => {
  const event = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const ended = async (contributed: Contributions, token: string) =>
    methodOf(contributed).endedElsewhere!(token, AbortSignal.timeout(5000))
  const logout = (more: object = {}) => {
    const { iss, aud, iat, exp } = claimsFor(upstreams().upstream, '')
    return { ...{ iss, aud, iat, exp }, sub: alice.sub, events: event, jti: randomUUID(), ...more }
  }

  it('names the person by sub, mapped or not, or by sid alone', async () => {
    const subject = subjectOf(upstreams().upstream.issuer, alice.sub)
    const hashed = await create()
    expect(await ended(hashed, await upstreams().upstream.sign(logout()))).toMatchObject({ subject })
    const mapped = await create({ id: 'mapped', subject: 'email', scope: 'openid email', userinfo: true })
    expect(await signIn(mapped)).toMatchObject({ outcome: 'passed', subject: 'alice@corp.example' })
    expect(await ended(mapped, await upstreams().upstream.sign(logout()))).toMatchObject({
      subject: 'alice@corp.example',
    })
    const attempt = newAttempt()
    const { answer, kept } = await visit(mapped, attempt)
    answerWith(upstreams().upstream, attempt, (nonce) =>
      upstreams().upstream.sign({ ...claimsFor(upstreams().upstream, nonce), email: 'a@b', sid: 's1' }),
    )
    const byIdToken = await create({ id: 'mapped', subject: 'email' })
    expect(await methodOf(byIdToken).finish(kept, answer)).toMatchObject({ outcome: 'passed' })
    expect(
      await ended(byIdToken, await upstreams().upstream.sign(logout({ sub: undefined, sid: 's1' }))),
    ).toMatchObject({
      subject: 'a@b',
    })
  })

  it('[SI27] [SI41] is refused when it has no jti, is for another client, of another issuer or key, an ID token, or out of time', async () => {
    const contributed = await create()
    const { exp, iat } = claimsFor(upstreams().upstream, '')
    const refused = [
      upstreams().upstream.sign(logout({ aud: 'another' })),
      upstreams().upstream.sign(logout({ iss: upstreams().other.issuer })),
      upstreams().upstream.sign(logout({ nonce: 'n' })),
      upstreams().upstream.sign(logout({ events: undefined })),
      upstreams().upstream.sign(logout({ sub: undefined })),
      upstreams().upstream.sign(logout({ jti: undefined })),
      upstreams().upstream.sign(logout({ iat: undefined })),
      upstreams().upstream.sign(logout(), { typ: 'at+jwt' }),
      upstreams().upstream.sign(logout({ exp: exp - 1000, iat: iat - 1000 })),
      new SignJWT(logout()).setProtectedHeader({ alg: 'ES256' }).sign(upstreams().ours.privateKey),
      new SignJWT(logout()).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(secret)),
      Promise.resolve(new UnsecuredJWT(logout()).encode()),
      Promise.resolve('junk'),
    ]
    for (const token of await Promise.all(refused)) expect(await ended(contributed, token)).toHaveProperty('fault')
  })
})

it('meaningless options are refused', async () => {
  const sound = { id: 'corp', issuer: 'https://login.example', client_id: 'c', client_secret: 's' }
  expect(await validate(sound)).not.toHaveProperty('issues')
  for (const wrong of [
    { id: 'Corp!' },
    { issuer: 'http://login.example' },
    { issuer: 'https://login.example?x=1' },
    { client_secret: undefined },
    { token_endpoint_auth_method: 'private_key_jwt' },
    { scope: 'profile' },
    { claims: { sub: 'email' } },
    { id_token_signing_alg: 'HS256' },
    { logo: 'http://login.example/logo.png' },
  ])
    expect(await validate({ ...sound, ...wrong })).toHaveProperty('issues')
})

it('the settings of providers in the documents are valid options', async () => {
  const blocks = [...readDocument('docs/sign-in.md').matchAll(/^( *)```yaml\n([\s\S]*?)^ *```$/gm)].map(
    ([, , block]) => block,
  )
  const entries = blocks.flatMap((block = '') => {
    const read = parse(block) as { plugins?: unknown } | unknown[]
    return (Array.isArray(read) ? read : (read.plugins ?? [])) as { use: string; options: Record<string, unknown> }[]
  })
  const upstreamEntries = entries.filter(({ use }) => use === 'plugins/login/oidc')
  expect(upstreamEntries.map(({ options: { id } }) => id)).toEqual([
    'corp',
    'entra',
    'google',
    'okta',
    'keycloak',
    'bank',
  ])
  for (const { options } of upstreamEntries) {
    const secretHere = options['client_secret'] === undefined ? {} : { client_secret: secret }
    expect(await validate({ ...options, ...secretHere })).not.toHaveProperty('issues')
  }
})
