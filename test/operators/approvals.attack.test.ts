import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { controlledActions } from '../../core/administration/carry-out.js'
import { loadWithStores } from '../../core/checks/check-configuration.js'
import { collections } from '../../core/collections/collections.js'
import { openStores, type Stores } from '../../core/collections/stores.js'
import { kindOf } from '../../core/operators/action.js'
import { openCommandLine } from '../support/server/command-line.js'
import { SoftwareAuthenticator } from '../support/clients/software-authenticator.js'
import { freePort } from '../support/free-port.js'
import { fieldOf, OperatorBrowser, optionsOf } from '../support/server/operator-browser.js'
import { startOperatorServer, type AskApi, type OperatorServer } from '../support/server/operator-server.js'

const glass = 'a-secret-in-a-sealed-envelope'
const names = ['ada', 'bob', 'eve', 'vic'] as const
type Name = (typeof names)[number]

let ahead = 0
let server: OperatorServer
let stores: Stores
let origin: string
const authenticators = new Map<Name, SoftwareAuthenticator>()
const browsers = new Map<Name, OperatorBrowser>()
/** Automation with a token that a command on the host has issued, before anything was under dual control. */
let ask: AskApi

beforeAll(async () => {
  const port = await freePort()
  origin = `http://localhost:${String(port)}`
  for (const name of names) authenticators.set(name, new SoftwareAuthenticator(origin))
  server = await startOperatorServer({
    clock: () => Date.now() + ahead,
    configure: (written) => ({
      ...written,
      admin: { host: '127.0.0.1', port },
      dual_control: { clients: 1 },
      break_glass_secret: glass,
      operators: {
        people: [...authenticators].map(([name, { id, publicKey }]) => ({
          ...{ name, passkeys: [{ id, public_key: publicKey }] },
          roles: name === 'vic' ? ['support'] : ['operator'],
        })),
      },
    }),
  })
  const config = await loadWithStores(join(server.directory, 'signet.yaml'), {})
  stores = await openStores(config, () => Date.now() + ahead)
  ask = await server.as('operator')
  for (const [name, authenticator] of authenticators) {
    const browser = new OperatorBrowser(server.admin)
    expect((await browser.signIn(authenticator)).location).toBe('/console')
    browsers.set(name, browser)
  }
})
afterAll(async () => {
  await stores[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

let count = 0
/** A client whose creation waits for approval. */
const propose = async () => {
  const client_id = `shop${String(count++)}`
  const body = { client_id, client_name: 'Shop', grant_types: ['client_credentials'] }
  const { status, body: waiting, headers } = await ask('/clients', { method: 'POST', body })
  expect(status).toBe(202)
  expect(headers.get('location')).toBe(`/api/v1/approvals/${waiting.approval}`)
  return { client_id, id: waiting.approval as string, secret: waiting.client_secret as string }
}

const digestOf = async (id: string): Promise<string> => (await ask(`/approvals/${id}`)).body.digest

/** Approves as an operator does on the page, or with another answer. */
const approve = async (name: Name, id: string, answer?: string) => {
  const browser = browsers.get(name)!
  const path = `/console/approvals/${id}`
  const { html } = await browser.open(path)
  const csrf = html.includes('name="csrf"') ? fieldOf(html, 'csrf') : ''
  const signed = answer ?? authenticators.get(name)!.signIn(optionsOf(html))
  return browser.post(path, { csrf, answer: signed })
}

const sign = async (name: Name, id: string) =>
  authenticators.get(name)!.signIn({ challenge: await digestOf(id), rpId: 'localhost' })

const stateOf = async (id: string): Promise<string> => (await ask(`/approvals/${id}`)).body.state

const { approvals, operators } = {
  approvals: () => collections(stores).approvals,
  operators: () => collections(stores).operators,
}

describe('a change under dual control', () => {
  it('waits, is approved by a passkey over its digest, and is carried out once', async () => {
    const { client_id, id, secret } = await propose()
    expect((await ask(`/clients/${client_id}`)).status).toBe(404)
    expect(await approve('ada', id)).toMatchObject({ status: 303, location: expect.stringContaining('approval_done') })
    expect((await ask(`/clients/${client_id}`)).status).toBe(200)
    expect(await stateOf(id)).toBe('done')
    expect(secret).toMatch(/^[\w-]{43}$/)
    const stored = await collections(stores).clients.find(client_id)
    expect(JSON.stringify(stored)).not.toContain(secret)
    const events = await server.audit()
    expect(events).toContainEqual(
      expect.objectContaining({ event: 'administration', action: 'client.add', client_id, approval: id }),
    )
    const given = events.find(({ event, approval }) => event === 'approval.given' && approval === id)
    expect(given).toMatchObject({
      operator: 'ada',
      public_key: { kty: 'EC', crv: 'P-256' },
      rp_id: 'localhost',
      origin,
    })
  })

  it('covers every change of its kinds, whichever way it comes', async () => {
    const { stdout, stderr } = await (
      await openCommandLine()
    ).run([
      ...['clients', 'add', '--client-id', 'from-host', '--grant-type', 'client_credentials'],
      ...['--config', join(server.directory, 'signet.yaml')],
    ])
    expect(stdout).toBe('')
    expect(stderr).toContain('This waits for the approval of other operators')
    expect((await ask('/clients/from-host')).status).toBe(404)
    for (const action of Object.keys(controlledActions)) expect(kindOf(action), action).toBeDefined()
  })

  it('is not approved by the one who asked, nor by the owner of the token, nor twice, nor by a viewer (AD41)', async () => {
    const browser = browsers.get('ada')!
    const made = await propose()
    await approve('bob', made.id)
    const read = await ask(`/clients/${made.client_id}`)
    expect(read.status).toBe(200)
    const token = await ask('/operators/tokens', { method: 'POST', body: { name: 'bot', roles: ['operator'] } })
    const own = await collections(stores).operatorTokens.find(token.body.id)
    await collections(stores).operatorTokens.put(token.body.id, { ...own!, issuedBy: 'ada' })
    const asBot = (path: string, request: object) => server.ask(path, request, token.body.token)
    const { body } = await asBot('/clients', {
      method: 'POST',
      body: { client_id: 'of-bot', grant_types: ['client_credentials'] },
    })
    expect((await approve('ada', body.approval, await sign('ada', body.approval))).status).toBe(403)
    expect((await approve('vic', body.approval, await sign('vic', body.approval))).status).toBe(403)
    expect((await browser.open(`/console/approvals/${body.approval}`)).html).not.toContain('data-ceremony')
    expect(await stateOf(body.approval)).toBe('waiting')
    await approve('bob', body.approval)
    expect(await stateOf(body.approval)).toBe('done')
    expect((await approve('eve', body.approval, await sign('eve', body.approval))).status).toBe(409)
  })

  it('is not approved by a signature over something else, or of somebody else (AD42)', async () => {
    const one = await propose()
    const other = await propose()
    const key = authenticators.get('ada')!
    const options = { challenge: await digestOf(one.id), rpId: 'localhost' }
    const wrong = {
      'another document': await sign('ada', other.id),
      'another operator': await sign('bob', one.id),
      'another origin': key.signIn(options, { origin: 'https://evil.example' }),
      'another RP ID': key.signIn(options, { rpId: 'evil.example' }),
      'without user verification': key.signIn(options, { flags: 1 }),
      'another type': key.signIn(options, { type: 'webauthn.create' }),
      'an unknown key': new SoftwareAuthenticator(origin).signIn(options, { userHandle: null }),
      nothing: '{}',
    }
    for (const [what, answer] of Object.entries(wrong))
      expect((await approve('ada', one.id, answer)).status, what).toBe(400)
    expect(await stateOf(one.id)).toBe('waiting')
    // The signature of one approval is none for the next.
    const good = await sign('ada', one.id)
    expect((await approve('ada', one.id, good)).status).toBe(303)
    expect((await approve('ada', other.id, good)).status).toBe(400)
  })

  it('counts for nothing after the object has changed (AD43)', async () => {
    const { client_id, id } = await propose()
    await approve('ada', id)
    const { headers } = await ask(`/clients/${client_id}`)
    const ifMatch = { 'If-Match': headers.get('etag')! }
    const rename = (client_name: string) =>
      ask(`/clients/${client_id}`, { method: 'PATCH', body: { client_name }, headers: ifMatch })
    const [first, second] = [(await rename('One')).body.approval, (await rename('Two')).body.approval]
    expect(await approve('ada', second)).toMatchObject({ location: expect.stringContaining('approval_done') })
    expect(await approve('ada', first)).toMatchObject({ location: expect.stringContaining('approval_failed') })
    expect((await ask(`/clients/${client_id}`)).body.client_name).toBe('Two')
    expect(await ask(`/approvals/${first}`)).toMatchObject({ body: { state: 'failed', note: 'changed_meanwhile' } })
  })

  it('is not approved by an operator who was disabled (AD44)', async () => {
    const { id } = await propose()
    const answer = await sign('eve', id)
    await operators().put('eve', { name: 'eve', roles: [], disabled: true, credentials: [] })
    expect((await approve('eve', id, answer)).location).toBe('/console/sign-in')
    expect(await stateOf(id)).toBe('waiting')
    await operators().remove('eve')
    await browsers.get('eve')!.signIn(authenticators.get('eve')!)
  })

  it('is not carried out from a record that was edited in the store (AD45)', async () => {
    const { id, client_id } = await propose()
    const { record } = (await approvals().list(undefined, 200)).find((entry) => entry.id === id)!
    const evil = record.document.replace('"client_name":"Shop"', '"client_name":"Evil"')
    expect(evil).not.toBe(record.document)
    // Somebody shows one document, and changes the record before the signature comes.
    const answer = await sign('ada', id)
    await approvals().put(id, { ...record, document: evil })
    expect((await approve('ada', id, answer)).status).toBe(400)
    // A forged approval beside a document that needs fewer is counted for nothing.
    const assertion = JSON.parse(await sign('bob', id)).response
    const forged = {
      ...{ operator: 'eve', at: 1, origin, rp_id: 'localhost', credential: 'x' },
      assertion: { id: 'x', ...assertion },
    }
    await approvals().put(id, { ...record, approvals: [forged] })
    expect(await stateOf(id)).toBe('waiting')
    expect((await ask(`/clients/${client_id}`)).status).toBe(404)
  })

  it('ends after its time, and when somebody refuses it (AD46)', async () => {
    const { id } = await propose()
    const answer = await sign('ada', id)
    const refused = await propose()
    expect((await ask(`/approvals/${refused.id}/refuse`, { method: 'POST', body: {} })).status).toBe(200)
    expect((await approve('ada', refused.id, await sign('ada', refused.id))).status).toBe(409)
    ahead += 24 * 3_600_000 + 1000
    await browsers.get('ada')!.signIn(authenticators.get('ada')!)
    expect(await stateOf(id)).toBe('expired')
    expect((await approve('ada', id, answer)).status).toBe(409)
    ahead = 0
    await browsers.get('ada')!.signIn(authenticators.get('ada')!)
  })

  it('is carried out without others by the secret of the configuration alone, and on the record (AD47)', async () => {
    const { id, client_id } = await propose()
    await using commands = await openCommandLine()
    const breakGlass = (secret: string) =>
      commands.run(['approve', id, '--break-glass', 'all are ill', '--config', join(server.directory, 'signet.yaml')], {
        input: `${secret}\n`,
      })
    expect((await breakGlass('a-wrong-secret-of-somebody')).stderr).toContain('not the break_glass_secret')
    expect((await ask(`/clients/${client_id}`)).status).toBe(404)
    expect((await breakGlass(glass)).stdout).toContain(`Carried out ${id}`)
    expect((await ask(`/clients/${client_id}`)).status).toBe(200)
    expect(await server.audit()).toContainEqual(
      expect.objectContaining({ event: 'approval.broken_glass', approval: id, reason: 'all are ill' }),
    )
  })
})
