import { describe, expect, it } from 'vitest'
import type { ClaimRule } from '../../core/tokens/claim-rules.js'
import { createClaimReleases } from '../../core/tokens/claim-releases.js'

const releases = createClaimReleases({
  scopes: [
    { name: 'openid', claims: [] },
    { name: 'email', claims: ['mailbox', 'email'] },
    { name: 'staff', claims: ['department', 'title'] },
  ],
  claims: {},
})

describe('what scopes release', () => {
  it('is the claims of OpenID Connect and those of the configuration, each once', () => {
    expect(releases.ofScopes(['openid', 'email', 'staff', 'unknown'])).toEqual([
      'email',
      'email_verified',
      'mailbox',
      'department',
      'title',
    ])
    expect(releases.supported).toEqual(['email', 'email_verified', 'mailbox', 'department', 'title'])
  })

  it('can be asked for one by one by a client that registered the scope, in any language', () => {
    const names = ['email', 'department', 'department#de', 'name', 'shoe_size', 'acr', 'toString']
    const requested = { userinfo: Object.fromEntries(names.map((name) => [name, null])) }
    const givenTo = (scope: readonly string[]) => Object.keys(releases.releasable(requested, { scope }).userinfo ?? {})
    expect(givenTo(['openid'])).toEqual(['acr'])
    expect(givenTo(['staff'])).toEqual(['department', 'department#de', 'acr'])
    // The deployment has no scope `profile`.
    expect(givenTo(['email', 'profile'])).toEqual(['email', 'acr'])
  })

  it('is taken from the account, without what is not there or not its own', () => {
    const claims = { email: 'a@bank.example', title: null, iss: 'https://evil.example', token_type: 'x' }
    const names = ['email', 'title', 'iss', 'token_type', '_claim_sources', 'toString', '__proto__', 'department']
    expect(releases.pick(claims, names)).toEqual({ email: 'a@bank.example' })
  })

  it('has the type that OpenID Connect gives it: nobody gets a time as text, or a text `false` for false', () => {
    const of = createClaimReleases({ scopes: [{ name: 'profile', claims: [] }], claims: {} })
    const right = { updated_at: 1_767_225_600, email_verified: false, phone_number_verified: true }
    const wrong = { updated_at: '2026-01-01T00:00:00Z', email_verified: 'false', phone_number_verified: 1 }
    expect(of.pick(right, Object.keys(right))).toEqual(right)
    expect(of.pick({ ...wrong, name: 'A' }, [...Object.keys(wrong), 'name'])).toEqual({ name: 'A' })
  })
})

const withRules = (claims: Readonly<Record<string, Partial<ClaimRule>>>) =>
  createClaimReleases({
    scopes: [{ name: 'staff', claims: ['department'] }],
    claims: Object.fromEntries(Object.entries(claims).map(([name, rule]) => [name, { in: [], ...rule }])),
  })

describe('what rules release', () => {
  const api = 'https://api.example'
  const other = 'https://other.example'
  const recipient = { clientId: 'web', scope: ['openid'], audience: [api] }

  it('is nothing where there are none', () => {
    expect(withRules({}).added('access_token', recipient)).toEqual([])
  })

  it.each<[string, Partial<ClaimRule>, unknown]>([
    ['its own name', {}, ['a', 'b-1', 'b-2', 3]],
    ['another name', { from: 'groups' }, ['b-2', 'c']],
    ['a constant', { value: { id: 1 } }, { id: 1 }],
    ['a constant that is false', { value: false }, false],
    ['values by name', { only: ['a', 'b-2', 'none'] }, ['a', 'b-2']],
    ['values by their beginning', { only: ['b-*'] }, ['b-1', 'b-2']],
    ['no values', { only: ['d'] }, []],
    ['no values that only begin alike', { only: ['b'] }, []],
    ['a text that fits', { from: 'rank', only: ['chief*'] }, 'chief'],
    ['a text that does not fit', { from: 'rank', only: ['clerk'] }, undefined],
    ['what is no text', { from: 'age', only: ['4*'] }, undefined],
    ['what the account does not have', { from: 'toString' }, undefined],
  ])('is %s', (_name, rule, expected) => {
    const account = { roles: ['a', 'b-1', 'b-2', 3], groups: ['b-2', 'c'], rank: 'chief', age: 42 }
    expect(withRules({ roles: rule }).pick(account, ['roles'])).toEqual(
      expected === undefined ? {} : { roles: expected },
    )
  })

  it.each<[string, Partial<ClaimRule>, boolean]>([
    ['everyone', {}, true],
    ['this client', { for: ['web'] }, true],
    ['another client', { for: ['desk'] }, false],
    ['this resource server', { for: [api] }, true],
    ['another resource server', { for: [other] }, false],
  ])('for %s', (_name, rule, expected) => {
    const releases = withRules({ roles: { in: ['access_token'], ...rule } })
    expect(releases.added('access_token', recipient)).toEqual(expected ? ['roles'] : [])
    expect(releases.added('id_token', recipient)).toEqual([])
  })

  it('for one resource server is in no token for two, nor in an answer without an audience', () => {
    const releases = withRules({ roles: { in: ['access_token', 'userinfo'], for: [api] } })
    expect(releases.added('access_token', { ...recipient, audience: [api, other] })).toEqual([])
    expect(releases.added('access_token', { ...recipient, audience: [] })).toEqual([])
    expect(releases.added('userinfo', { clientId: 'web', scope: [] })).toEqual([])
  })

  it('needs the scope that stands for it', () => {
    const releases = withRules({ department: { in: ['access_token'] } })
    expect(releases.added('access_token', recipient)).toEqual([])
    expect(releases.added('access_token', { ...recipient, scope: ['staff'] })).toEqual(['department'])
    const german = withRules({ 'department#de': { in: ['access_token'] } })
    expect(german.added('access_token', recipient)).toEqual([])
    expect(german.added('access_token', { ...recipient, scope: ['staff'] })).toEqual(['department#de'])
  })

  it('cannot be requested without a scope', () => {
    const releases = withRules({ roles: { in: ['userinfo'] } })
    expect(releases.releasable({ userinfo: { roles: null } }, { scope: ['openid', 'profile', 'staff'] })).toEqual({
      userinfo: {},
    })
  })

  it('lists the claims of an account that can be released', () => {
    const releases = withRules({
      roles: { from: 'groups', in: ['access_token'] },
      tenant: { value: 'acme', in: ['id_token'] },
      idle: {},
    })
    const of = (names: readonly string[]) => names.filter((name) => releases.isSource(name))
    expect(of(['groups', 'roles', 'tenant', 'idle', 'department', 'department#de'])).toEqual([
      'groups',
      'department',
      'department#de',
    ])
    expect(['roles', 'idle'].map((name) => releases.isReleased(name))).toEqual([true, false])
  })
})
