import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse, stringify } from 'yaml'
import { parseClientMetadata } from '../../core/oauth/clients/client-metadata.js'
import { createSubjects } from '../../core/oauth/subjects/subjects.js'
import { openStores } from '../../core/collections/stores.js'
import { loadConfig } from '../../config/load.js'
import { collections } from '../../core/collections/collections.js'
import { basic } from '../support/clients/clients.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { challenge, verifier } from '../support/forge/mint.js'
import {
  person,
  prepareDeployment,
  startServer,
  subject,
  webClient,
  type TestDeployment,
  type TestServer,
} from '../support/server/server.js'

type Json = Record<string, unknown>

const bob = { username: 'bob', password: 'another battery staple' }
const pairwiseKey = 'a pairwise key of more than 32 bytes, for tests'

const clientOf = (client_id: string, host: string, more: Json = {}) => ({
  ...webClient,
  client_id,
  redirect_uris: [`https://${host}/cb`],
  consent: 'implicit',
  subject_type: 'pairwise',
  ...more,
})
type TestClient = ReturnType<typeof clientOf>

const one = clientOf('one', 'one.example', { post_logout_redirect_uris: ['https://one.example/bye'] })
const two = clientOf('two', 'two.example')
const sibling = clientOf('sibling', 'one.example')
const plain = clientOf('plain', 'plain.example', { subject_type: 'public' })

const urlFor = (issuer: string, { client_id, redirect_uris: [redirect_uri = ''] }: TestClient, more = {}) => {
  const code = { response_type: 'code', code_challenge: challenge, code_challenge_method: 'S256' }
  return `${issuer}/authorize?${new URLSearchParams({ client_id, redirect_uri, scope: 'openid', ...code, ...more })}`
}

const redeem = async (issuer: string, client: TestClient, left: URL) => {
  const form = {
    grant_type: 'authorization_code',
    code: left.searchParams.get('code') ?? '',
    redirect_uri: client.redirect_uris[0] ?? '',
    code_verifier: verifier,
  }
  const headers = { authorization: basic(client) }
  const response = await fetch(`${issuer}/token`, { method: 'POST', headers, body: new URLSearchParams(form) })
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}

describe('the person that a pairwise client requests', () => {
  const keep = disposeAfterAll()
  const time = { ahead: 0 }
  let server: TestServer
  beforeAll(async () => {
    server = keep(
      await startServer({
        clock: () => Date.now() + time.ahead,
        configure: (written) => ({
          ...written,
          pairwise_key: pairwiseKey,
          clients: [one, two, sibling, plain],
          accounts: [
            { ...person, sub: subject },
            { ...bob, sub: '1-local-bob' },
          ],
        }),
      }),
    )
  })

  const signIn = async (client: TestClient, agent: UserAgent, who = person) => {
    const left = await agent.authorize(urlFor(server.issuer, client), who)
    const { body } = await redeem(server.issuer, client, left)
    const id = body['id_token'] ?? ''
    return { id, sub: decodeJwt(id).sub ?? '' }
  }
  /** Without a page: `code`, or the error. */
  const ask = async (client: TestClient, agent: UserAgent, more: Json) => {
    const { left } = await agent.follow(urlFor(server.issuer, client, { prompt: 'none', ...more }))
    return left?.searchParams.has('code') ? 'code' : left?.searchParams.get('error')
  }

  it('PW06 is found by the subject that this client knows, and by no other', async () => {
    const [alices, bobs] = [new UserAgent(), new UserAgent()]
    const own = await signIn(one, alices)
    const demands = (value: unknown) =>
      ['id_token', 'userinfo'].map((member) => ({ claims: JSON.stringify({ [member]: { sub: { value } } }) }))
    for (const demand of demands(own.sub)) expect(await ask(one, alices, demand)).toBe('code')
    const others = [subject, (await signIn(two, alices)).sub, (await signIn(one, bobs, bob)).sub, own.sub.toLowerCase()]
    for (const demand of [...others, ''].flatMap(demands)) expect(await ask(one, alices, demand)).toBe('login_required')
    for (const demand of demands(own.sub)) expect(await ask(plain, alices, demand)).toBe('login_required')
    for (const demand of demands(subject)) expect(await ask(plain, alices, demand)).toBe('code')
  })

  it('PW06 an id_token_hint is accepted, even when expired, and only from this client', async () => {
    const [alices, bobs] = [new UserAgent(), new UserAgent()]
    const own = await signIn(one, alices)
    const [elsewhere, ofSibling, bobsOwn] = [
      await signIn(two, alices),
      await signIn(sibling, alices),
      await signIn(one, bobs, bob),
    ]
    expect(ofSibling.sub).toBe(own.sub)
    time.ahead += 7_200_000
    expect(await ask(one, alices, { id_token_hint: own.id })).toBe('code')
    expect(await ask(one, bobs, { id_token_hint: own.id })).toBe('login_required')
    expect(await ask(one, alices, { id_token_hint: bobsOwn.id })).toBe('login_required')
    for (const { id } of [elsewhere, ofSibling])
      expect(await ask(one, alices, { id_token_hint: id })).toBe('invalid_request')
    const both = { id_token_hint: own.id, claims: JSON.stringify({ id_token: { sub: { value: subject } } }) }
    expect(await ask(one, alices, both)).toBe('invalid_request')
  })

  it('PW08 a hint of this session signs out at once; one of another session or person asks first', async () => {
    const [alices, again, bobs] = [new UserAgent(), new UserAgent(), new UserAgent()]
    const own = await signIn(one, alices)
    const [other, bobsOwn, second] = [await signIn(one, again), await signIn(one, bobs, bob), await signIn(two, alices)]
    const bye = { post_logout_redirect_uri: 'https://one.example/bye' }
    const signOut = (agent: UserAgent, query: Record<string, string>) =>
      agent.follow(`${server.issuer}/logout?${new URLSearchParams(query)}`)
    for (const { id } of [other, bobsOwn]) {
      const { response, left } = await signOut(alices, { id_token_hint: id, ...bye })
      expect([left, await response.text()]).toEqual([undefined, expect.stringContaining('id="logout-confirm"')])
    }
    const refused = await signOut(alices, { id_token_hint: second.id, client_id: 'one', ...bye })
    expect(refused.response.status).toBe(400)
    expect((await signOut(alices, { id_token_hint: own.id, ...bye })).left?.href).toBe('https://one.example/bye')
    expect(await ask(one, alices, {})).toBe('login_required')
  })
})

describe('a seal', () => {
  const subjects = createSubjects(pairwiseKey)
  const token = { clientId: 'one', jti: 'grant.token' }
  const sealed = subjects.seal(token, [subject, 'an actor'])

  it('PW07 can be opened in its token, with its key', () => {
    expect(subjects.open(token, sealed)).toEqual([subject, 'an actor'])
    expect(subjects.open({ ...token, clientId: 'two' }, sealed)).toBeUndefined()
    expect(subjects.open({ ...token, jti: 'grant.other' }, sealed)).toBeUndefined()
    expect(createSubjects(`${pairwiseKey}.`).open(token, sealed)).toBeUndefined()
    expect(createSubjects().open(token, sealed)).toBeUndefined()
  })

  it('PW07 that was truncated, extended or changed cannot be opened', () => {
    const bytes = Buffer.from(sealed, 'base64url')
    for (let at = 0; at < bytes.length; at++) {
      const changed = Buffer.from(bytes)
      changed[at] = (changed[at] ?? 0) ^ 1
      expect(subjects.open(token, changed.toString('base64url'))).toBeUndefined()
    }
    for (const text of ['', sealed.slice(4), sealed.slice(0, -4), `${sealed}AAAA`, 'null', '%'])
      expect(subjects.open(token, text)).toBeUndefined()
  })

  it('PW07 hides a subject of up to 64 characters, even its length', () => {
    const lengths = [1, 36, 64].map((count) => subjects.seal(token, ['x'.repeat(count)]).length)
    expect(new Set(lengths).size).toBe(1)
    const long = 'x'.repeat(255)
    expect(subjects.open(token, subjects.seal(token, [long]))).toEqual([long])
  })
})

describe('the key of pairwise subjects', () => {
  const keep = disposeAfterAll()
  const change = async ({ directory }: TestDeployment, members: Json) => {
    const file = join(directory, 'signet.yaml')
    const written = parse(await readFile(file, 'utf8')) as Json
    const changed = Object.entries({ ...written, ...members }).filter(([, value]) => value !== undefined)
    await writeFile(file, stringify(Object.fromEntries(changed)))
  }
  /** The subject that the client is told at a start with these members. */
  const subAt = async (deployment: TestDeployment, members: Json) => {
    await change(deployment, members)
    await using server = await deployment.start()
    const left = await new UserAgent().authorize(urlFor(server.issuer, one), person)
    const { body } = await redeem(server.issuer, one, left)
    const { sub } = decodeJwt(body['id_token'] ?? '')
    const loaded = (await server.audit()).findLast(({ event }) => event === 'configuration.loaded')
    return { sub, loaded }
  }
  const another = `${pairwiseKey}, another`

  it('PW09 a start with another key, or without one, is refused unless it is confirmed', async () => {
    const deployment = keep(
      await prepareDeployment({ configure: (written) => ({ ...written, clients: [one], pairwise_key: pairwiseKey }) }),
    )
    const first = await subAt(deployment, {})
    expect(await subAt(deployment, {})).toMatchObject({ sub: first.sub })
    const reason = /every pairwise subject would change/
    await expect(subAt(deployment, { pairwise_key: another })).rejects.toThrow(reason)
    await expect(subAt(deployment, { pairwise_key: pairwiseKey.toUpperCase() })).rejects.toThrow(reason)
    await expect(subAt(deployment, { pairwise_key: undefined, clients: [] })).rejects.toThrow(reason)
    const replaced = await subAt(deployment, {
      ...{ pairwise_key: another, pairwise_key_replaced: true, clients: [one] },
    })
    expect(replaced.sub).not.toBe(first.sub)
    expect(replaced.loaded).toMatchObject({ pairwise_key: 'replaced' })
    await expect(subAt(deployment, { pairwise_key: pairwiseKey, pairwise_key_replaced: undefined })).rejects.toThrow(
      reason,
    )
    const kept = await subAt(deployment, { pairwise_key: another })
    expect(kept.sub).toBe(replaced.sub)
    expect(kept.loaded).not.toHaveProperty('pairwise_key')
    const config = await loadConfig(join(deployment.directory, 'signet.yaml'), {})
    await using stores = await openStores(config, Date.now)
    expect(await collections(stores).secrets.find('pairwise_key')).not.toContain(another)
  })

  it('PW10 a pairwise client of the store gets no tokens without a key', async () => {
    const deployment = keep(await prepareDeployment({ configure: (written) => ({ ...written, clients: [plain] }) }))
    const file = join(deployment.directory, 'signet.yaml')
    {
      await using stores = await openStores(await loadConfig(file, {}), Date.now)
      const { client } = parseClientMetadata(one, ['openid'])
      if (client === undefined) throw new Error('the metadata is wrong')
      await collections(stores).clients.put('one', client)
    }
    await using server = await deployment.start()
    const { response, left } = await new UserAgent().follow(urlFor(server.issuer, one))
    expect([response.status, left]).toEqual([400, undefined])
    const metadata = await (await fetch(`${server.issuer}/.well-known/openid-configuration`)).json()
    expect(metadata).toMatchObject({ subject_types_supported: ['public'] })
    await expect(subAt(deployment, { clients: [one] })).rejects.toThrow(/pairwise needs pairwise_key/)
    await expect(subAt(deployment, { clients: [one], pairwise_key: 'x'.repeat(31) })).rejects.toThrow(
      /must have 32 bytes or more/,
    )
  })
})
