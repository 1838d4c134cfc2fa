import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { api, basic } from '../support/clients/clients.js'
import { decode } from '../support/forge/forge.js'
import { expectRefusal, startTokenServer, type TokenServer } from '../support/server/token-server.js'
import { subject, webClient } from '../support/server/server.js'

// Grants of a deployer's own over the running product, and what the core makes of the bad ones.

const grant = 'urn:bank.example:grant:'

/** Each is the body of `handle`; the good request follows each bad one. */
const handlers: Readonly<Record<string, string>> = {
  good: `return { subject: 'thing', scope: request.scope, claims: { input: request.input ?? null } }`,
  person: `return {
    subject: '${subject}', scope: ['openid', 'offline_access', 'read'], idToken: true, refresh: true,
    authentication: { auth_time: 1700000000, acr: 'silver', amr: ['hwk'] },
  }`,
  names: `return { subject: 'x', scope: [], claims: { names: [...request.params.keys()] } }`,
  hangs: `return new Promise(() => undefined)`,
  throws: `throw new TypeError('a secret: ' + request.params.get('loan'))`,
  'throws-nothing': `throw undefined`,
  'throws-http': `throw Object.assign(new Error('gone'), { status: 404, expose: true })`,
  'throws-unknown-code': `throw Object.assign(new Error('x'), { [Symbol.for('signet.OAuthError')]: true, code: 'fine', status: 200 })`,
  nothing: `return undefined`,
  text: `return 'yes'`,
  list: `return []`,
  'no-subject': `return { scope: [] }`,
  'empty-subject': `return { subject: '', scope: [] }`,
  'number-subject': `return { subject: 7, scope: [] }`,
  'text-scope': `return { subject: 'x', scope: 'read write' }`,
  'scope-with-blanks': `return { subject: 'x', scope: ['read write'] }`,
  'holey-scope': `return { subject: 'x', scope: [, 'read'] }`,
  'not-a-number': `return { subject: 'x', scope: [], notAfter: NaN }`,
  'text-flag': `return { subject: 'x', scope: [], refresh: 'yes' }`,
  getter: `return { subject: 'x', get scope() { return ['read'] } }`,
  'getter-in-claims': `return { subject: 'x', scope: [], claims: { get a() { return 1 } } }`,
  'date-in-claims': `return { subject: 'x', scope: [], claims: { at: new Date() } }`,
  cycle: `const claims = {}; claims.claims = claims; return { subject: 'x', scope: [], claims }`,
  'unknown-member': `return { subject: 'x', scope: [], scopes: ['read'] }`,
  'core-claim': `return { subject: 'x', scope: [], claims: { client_id: 'web' } }`,
  'too-long': `return { subject: 'x', scope: [], claims: { text: 'x'.repeat(7000) } }`,
  'five-actors': `const act = (n) => n === 0 ? undefined : { sub: 'a', act: act(n - 1) }; return { subject: 'x', scope: [], actor: act(5) }`,
  'grant-of-another': `return { subject: 'x', scope: [], redeem: { kind: 'refresh_token', token: 't' },
    grant: { grantId: 'g', clientId: 'web', subject: 'x', scope: [], resource: [], authentication: { auth_time: 1 } } }`,
  'unknown-redeem': `return { subject: 'x', scope: [], redeem: { kind: 'authorisation_code', code: 'c' },
    grant: { grantId: 'g', clientId: request.client.client_id, subject: 'x', scope: [], resource: [] } }`,
  'redeem-without-secret': `return { subject: 'x', scope: [], redeem: { kind: 'authorization_code', token: 't' },
    grant: { grantId: 'g', clientId: request.client.client_id, subject: 'x', scope: [], resource: [] } }`,
  'redeem-without-grant': `return { subject: 'x', scope: [], redeem: { kind: 'refresh_token', token: 't' } }`,
  'audience-beyond-the-grant': `return { subject: 'x', scope: [], audience: ['https://api.example'],
    redeem: { kind: 'refresh_token', token: 't' },
    grant: { grantId: 'g', clientId: request.client.client_id, subject: 'x', scope: [], resource: ['https://op.example'] } }`,
}

const source = `
const bodies = {
${Object.entries(handlers)
  .map(([name, body]) => `  '${name}': async (request) => { ${body} },`)
  .join('\n')}
}
/** A Standard Schema by hand: the loan is four digits and nothing else is known. */
const params = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      const ok = /^[0-9]{4}$/.test(value.loan ?? '') && Object.keys(value).length === 1
      return ok ? { value: { loan: Number(value.loan) } } : { issues: [{ message: 'no: ' + value.loan, path: ['loan'] }] }
    },
  },
}
export default {
  name: 'grants',
  apiVersion: 1,
  create: () => ({
    grants: [
      ...Object.entries(bodies).map(([name, handle]) => ({ grantType: '${grant}' + name, handle })),
      { grantType: '${grant}schema', params, handle: bodies.good },
      { grantType: '${grant}confidential', clientAuthentication: 'confidential', handle: bodies.good },
      { grantType: '${grant}post', clientAuthentication: ['client_secret_post'], handle: bodies.good },
    ],
  }),
}
`

const types = [...Object.keys(handlers), 'schema', 'confidential', 'post'].map((name) => grant + name)
const client = {
  client_id: 'branch',
  client_secret: 'branch-secret-of-more-than-256-bits-for-tests',
  grant_types: [...types, 'refresh_token'],
  scope: 'openid offline_access read write',
}
const open = {
  client_id: 'open',
  grant_types: client.grant_types,
  scope: client.scope,
  token_endpoint_auth_method: 'none',
}

const poster = { ...client, client_id: 'poster', token_endpoint_auth_method: 'client_secret_post' }

let host: TokenServer
const logged: string[] = []

beforeAll(async () => {
  const tell = (...entry: unknown[]) => void logged.push(entry.map(String).join(' '))
  host = await startTokenServer({
    log: { debug() {}, info() {}, warn() {}, error: tell },
    configure: (written) => {
      const { file } = written['audit'] as { file: string }
      writeFileSync(join(dirname(file), 'grants.mjs'), source)
      return {
        ...written,
        plugins: [...(written['plugins'] as object[]), { use: './grants.mjs' }],
        clients: [...(written['clients'] as object[]), client, open, poster],
      }
    },
  })
})
afterAll(() => host[Symbol.asyncDispose]())

const ask = (name: string, form: Readonly<Record<string, string>> = {}) =>
  host.token({ grant_type: grant + name, ...form }, { authorization: basic(client) })

const expectGood = async () => {
  const { status, body } = await ask('good', { scope: 'read' })
  expect({ status, scope: body['scope'] }).toEqual({ status: 200, scope: 'read' })
}

describe('a grant of a deployer’s own', () => {
  const bugs = Object.keys(handlers).filter((name) => !['good', 'person', 'names', 'hangs'].includes(name))

  it.each(bugs)('that has a bug (%s) issues nothing, and is a server error that is logged', async (name) => {
    const before = logged.length
    expectRefusal(await ask(name, { loan: 'a-value-that-nobody-reads' }), 500, 'server_error')
    expect(logged.length).toBeGreaterThan(before)
    const issued = (await host.server.audit()).filter(({ event }) => event === 'token.issued')
    expect(issued.map(({ grant_type }) => grant_type)).not.toContain(grant + name)
    await expectGood()
  })

  it('that hangs is an outage at the deadline', async () => {
    const [answer] = await Promise.all([ask('hangs'), expectGood()])
    expectRefusal(answer, 503, 'temporarily_unavailable')
    expect(answer.headers.get('retry-after')).toMatch(/^\d+$/)
    await expectGood()
  })

  it('has its parameters checked by its schema', async () => {
    for (const form of [{}, { loan: '12' }, { loan: 'abcd' }, { loan: '1234', more: 'x' }])
      expectRefusal(await ask('schema', form), 400, 'invalid_request')
    const { body } = await ask('schema', { loan: '0042', scope: 'read' })
    expect(decode(String(body['access_token']), 1)['input']).toEqual({ loan: 42 })
  })

  it('is for clients that authenticate as it asks', async () => {
    const asOpen = (name: string) => host.token({ grant_type: grant + name, client_id: 'open', scope: 'read' })
    expect((await asOpen('good')).status).toBe(200)
    expectRefusal(await asOpen('confidential'), 400, 'unauthorized_client')
    expect((await ask('confidential')).status).toBe(200)
    expectRefusal(await ask('post'), 400, 'unauthorized_client')
  })

  it('gets an id_token and a refresh family from the core', async () => {
    const { status, body } = await ask('person')
    expect(status).toBe(200)
    expect(decode(String(body['id_token']), 1)).toMatchObject({
      sub: subject,
      aud: 'branch',
      acr: 'silver',
      amr: ['hwk'],
    })
    const form = { grant_type: 'refresh_token', refresh_token: String(body['refresh_token']) }
    const again = await host.token(form, { authorization: basic(client) })
    expect(again).toMatchObject({ status: 200, body: { scope: 'openid offline_access read' } })
    expect(decode(String(again.body['id_token']), 1)).toMatchObject({ sub: subject, auth_time: 1700000000 })
    const [grantId = ''] = String(decode(String(body['access_token']), 1)['jti']).split('.')
    expect(String(decode(String(again.body['access_token']), 1)['jti'])).toContain(`${grantId}.`)
    await host.store.revocations('revocations').revoke(grantId, 600)
    expectRefusal(await host.token(form, { authorization: basic(client) }), 400, 'invalid_grant')
    expect((await host.userinfo(String(body['access_token']))).status).toBe(401)
  })

  it('sees no credentials of the client', async () => {
    const { client_id, client_secret } = poster
    const { body } = await host.token({ grant_type: `${grant}names`, client_id, client_secret, loan: 'x' })
    const { names } = decode(String(body['access_token']), 1)
    expect(names).toEqual(['grant_type', 'client_id', 'loan'])
  })
})

describe('a plugin in the place of a built-in grant', () => {
  const startWithHook = (decision: string) => {
    const hook = `export default {
      name: 'refresh', apiVersion: 1, needs: ['refreshTokens'],
      create: (_options, { refreshTokens }) => ({
        grants: [{
          grantType: 'refresh_token',
          async handle({ params, client }) {
            const token = params.get('refresh_token') ?? ''
            const grant = await refreshTokens.find(token)
            if (grant?.clientId !== client.client_id)
              throw Object.assign(new Error('no'), { [Symbol.for('signet.OAuthError')]: true, code: 'invalid_grant',
                description: 'The refresh token is not valid.', status: 400, reason: 'unknown', headers: {} })
            const { subject, scope, authentication } = grant
            return ${decision}
          },
        }],
      }),
    }`
    return startTokenServer({
      configure: (written) => {
        writeFileSync(join(dirname((written['audit'] as { file: string }).file), 'refresh.mjs'), hook)
        const plugins = (written['plugins'] as { use: string }[]).filter(({ use }) => !use.endsWith('/refresh-token'))
        return { ...written, plugins: [...plugins, { use: './refresh.mjs' }] }
      },
    })
  }

  it('applies its own rules to a refresh, and the core still rotates', async () => {
    await using own = await startWithHook(
      `{ subject, scope: scope.filter((name) => name !== 'email'), authentication, grant,
        claims: { tier: 'gold' }, redeem: { kind: 'refresh_token', token } }`,
    )
    const { token } = await own.mint.refreshToken()
    const first = await own.refresh(token)
    expect(first.status).toBe(200)
    expect(decode(String(first.body['access_token']), 1)).toMatchObject({ tier: 'gold' })
    expect(first.body['scope']).not.toContain('email')
    expect((await own.refresh(String(first.body['refresh_token']))).status).toBe(200)
    expectRefusal(await own.refresh(token), 400, 'invalid_grant')
    expectRefusal(await own.refresh('x'), 400, 'invalid_grant')
  })

  it('gives what was granted, and no other audience, where it names none', async () => {
    await using own = await startWithHook(
      `{ subject, scope, authentication, grant, redeem: { kind: 'refresh_token', token } }`,
    )
    const audienceOf = async (form = {}) => {
      const { token } = await own.mint.refreshToken({ clientId: webClient.client_id, resource: [api] })
      const { body } = await own.refresh(token, form, webClient)
      return decode(String(body['access_token']), 1)['aud']
    }
    expect(await audienceOf()).toBe(api)
    expect(await audienceOf({ resource: api })).toBe(api)
  })
})
