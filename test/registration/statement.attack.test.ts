import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newAssertionKey, signAssertion, type AssertionKey } from '../support/clients/client-assertion.js'
import { bearer, issueToken, manage, post, register, type Registered } from '../support/clients/registration.js'
import { redirectUri } from '../support/server/server.js'
import { expectRefusal, startTokenServer, type TokenServer } from '../support/server/token-server.js'
import { spellingsOf } from '../support/forge/type-spellings.js'

type Json = Record<string, unknown>

const directory = 'https://directory.example'
const vendor = 'https://vendor.example'
const [directoryKey, vendorKey, stranger] = [newAssertionKey(), newAssertionKey('PS256'), newAssertionKey()]
const clientKey = newAssertionKey()

let host: TokenServer
let issuer: string
let keys: Server
let served: Json[] = [vendorKey.publicJwk]

beforeAll(async () => {
  keys = createServer((_, response) => response.end(JSON.stringify({ keys: served }))).listen(0, '127.0.0.1')
  await once(keys, 'listening')
  const jwks_uri = `http://127.0.0.1:${(keys.address() as AddressInfo).port}/jwks`
  host = await startTokenServer({
    configure: (written) => ({
      ...written,
      registration: {
        mode: 'open',
        policy: { require_software_statement: true },
        policies: { free: {} },
        software_statements: [
          {
            issuer: directory,
            jwks: { keys: [directoryKey.publicJwk] },
            max_age_secs: 600,
            claims: { redirect_uris: 'software_redirect_uris', client_name: 'software_client_name' },
          },
          { issuer: vendor, jwks_uri, signing_algs: ['PS256'] },
        ],
      },
    }),
  })
  ;({ issuer } = host.server)
})
afterAll(async () => {
  keys.closeAllConnections()
  keys.close()
  await host[Symbol.asyncDispose]()
})

const seconds = () => Math.floor(host.now() / 1000)

/** Of the directory, as it is right; undefined leaves a claim out. */
const statement = (claims: Json = {}, { by = directoryKey, header = {} }: { by?: AssertionKey; header?: Json } = {}) =>
  signAssertion(
    by,
    { alg: by.alg, kid: by.kid, typ: 'JWT', ...header },
    {
      iss: directory,
      iat: seconds(),
      software_redirect_uris: [redirectUri],
      software_client_name: 'Ledger',
      ...claims,
    },
  )

describe('software statements', () => {
  it('win over what the client says, and come back as they were', async () => {
    const software_statement = statement({ software_id: 'ledger', jwks: { keys: [clientKey.publicJwk] } })
    const told = await register(issuer, {
      client_name: 'Something else',
      software_id: 'else',
      redirect_uris: ['https://evil.example/cb'],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks_uri: 'https://evil.example/jwks',
      contacts: ['ops@ledger.example'],
      software_statement,
    })
    expect(told).toMatchObject({ client_name: 'Ledger', software_id: 'ledger', redirect_uris: [redirectUri] })
    expect(told).toMatchObject({ software_statement, contacts: ['ops@ledger.example'] })
    expect(told['jwks']).toEqual({ keys: [clientKey.publicJwk] })
    expect(told).not.toHaveProperty('jwks_uri')
  })

  it.each(spellingsOf('JWT'))('may have the type %s', async (typ) => {
    const told = await register(issuer, { software_statement: statement({}, { header: { typ } }) })
    expect(told).toMatchObject({ client_name: 'Ledger' })
  })

  it('still win when the client changes its metadata, unless it brings another statement', async () => {
    const told = await register(issuer, { software_statement: statement() })
    const { client_id } = told
    expect((await manage('GET', told)).status).toBe(200)
    host.later(3_600_000)
    try {
      const kept = await manage('PUT', told, {
        client_id,
        client_name: 'Evil',
        redirect_uris: ['https://evil.example/'],
      })
      expect(kept.body).toMatchObject({ client_name: 'Ledger', redirect_uris: [redirectUri] })
      const registered = kept.body as unknown as Registered
      const software_statement = statement({ software_client_name: 'Ledger 2' })
      const renewed = await manage('PUT', registered, { client_id, software_statement })
      expect(renewed.body).toMatchObject({ client_name: 'Ledger 2', software_statement })
      const forged = statement({ software_client_name: 'Evil' }, { by: stranger })
      const now = renewed.body as unknown as Registered
      const refused = await manage('PUT', now, { client_id, software_statement: forged })
      expectRefusal(refused, 400, 'invalid_software_statement')
    } finally {
      host.later(-3_600_000)
    }
  })

  it('are verified by the keys behind jwks_uri, also by those that are new there', async () => {
    const of = (by: AssertionKey) => statement({ iss: vendor, redirect_uris: [redirectUri] }, { by })
    await register(issuer, { software_statement: of(vendorKey) })
    const next = newAssertionKey('PS256')
    served = [next.publicJwk]
    host.later(61_000)
    await register(issuer, { software_statement: of(next) })
    served = [vendorKey.publicJwk]
  })

  it('are held to the policy like everything else', async () => {
    expectRefusal(
      await post(issuer, { software_statement: statement({ scope: 'openid write' }) }),
      400,
      'invalid_client_metadata',
    )
    const evil = { software_redirect_uris: ['http://evil.example/'] }
    expectRefusal(await post(issuer, { software_statement: statement(evil) }), 400, 'invalid_redirect_uri')
  })

  it('are not asked for where the policy does not', async () => {
    const token = await issueToken(host.store, host.now, { policy: 'free' })
    expect((await post(issuer, { redirect_uris: [redirectUri] }, bearer(token))).status).toBe(201)
  })
})

describe('RG09', () => {
  const unsigned = (header: Json) => {
    const [, claims = ''] = statement().split('.')
    return `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${claims}.`
  }
  it.each<[string, () => unknown, string?]>([
    ['none', () => undefined],
    ['no JWT', () => 'x'],
    ['a number', () => 5],
    ['an unsigned one', () => unsigned({ alg: 'none' })],
    ['an unsigned one with a signature', () => `${unsigned({ alg: 'none' })}AAAA`],
    ['a symmetric one', () => statement({}, { header: { alg: 'HS256' } })],
    ['one by another key', () => statement({}, { by: stranger })],
    ['one by another key of the same name', () => statement({}, { by: { ...stranger, kid: directoryKey.kid } })],
    ['one with a key of its own', () => statement({}, { by: stranger, header: { jwk: stranger.publicJwk } })],
    ['one by an algorithm that its issuer may not use', () => statement({ iss: vendor }, { by: directoryKey })],
    ['an altered one', () => statement().replace(/\.(.)/, (_, first: string) => `.${first === 'e' ? 'f' : 'e'}`)],
    ['one of another type', () => statement({}, { header: { typ: 'at+jwt' } })],
    ['one with an extension', () => statement({}, { header: { crit: ['exp'], exp: 1 } })],
    ['an expired one', () => statement({ exp: seconds() - 60 })],
    ['one of the future', () => statement({ iat: seconds() + 60 })],
    ['one that is not valid yet', () => statement({ nbf: seconds() + 60 })],
    ['one that is too old', () => statement({ iat: seconds() - 601 })],
    ['one without a time', () => statement({ iat: undefined })],
    ['one for another audience', () => statement({ aud: 'https://other.example' })],
    ['one of an unknown issuer', () => statement({ iss: 'https://evil.example' }), 'unapproved_software_statement'],
    ['one without an issuer', () => statement({ iss: undefined }), 'unapproved_software_statement'],
    ['one of an issuer that is no text', () => statement({ iss: [directory] }), 'unapproved_software_statement'],
    ['one of 9 KB', () => statement({ padding: 'x'.repeat(9000) })],
  ])('refuses %s', async (_, make, error = 'invalid_software_statement') => {
    const answer = await post(issuer, { redirect_uris: [redirectUri], software_statement: make() })
    expectRefusal(answer, 400, error)
  })

  it('takes one for us among others', async () => {
    await register(issuer, { software_statement: statement({ aud: ['https://other.example', issuer] }) })
  })
})
