import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { manage, post, register, type Registered } from '../support/clients/registration.js'
import { fromAnotherAddress } from '../support/addresses.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { redirectUri } from '../support/server/server.js'
import { expectRefusal, startTokenServer, type TokenServer } from '../support/server/token-server.js'

// What one address may leave of clients that it registered, and for how long.

type Json = Record<string, unknown>

const web = { redirect_uris: [redirectUri] }
const hour = 3_600_000
const metadataOf = (bytes: number) => ({
  redirect_uris: [0, 1, 2].map((index) => `${redirectUri}/${String(index)}/${'x'.repeat(bytes / 3)}`),
})

let cli: CommandLine
let host: TokenServer
let issuer: string
beforeAll(async () => {
  cli = await openCommandLine()
  host = await startTokenServer({
    configure: (written) => ({
      ...written,
      registration: { mode: 'open', unused_days: 30 },
      rate_limits: { register: { address_per_minute: 10_000, address_open: 10_000 } },
    }),
  })
  ;({ issuer } = host.server)
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
  await cli[Symbol.asyncDispose]()
})

let addresses = 0
let address: string
beforeEach(() => {
  address = `192.0.2.${String(++addresses)}`
})

const ask = (metadata: unknown, from = address) => post(issuer, metadata, { 'x-forwarded-for': from })
const configuration = () => ['--config', join(host.server.directory, 'signet.yaml')]
const run = (...parts: readonly string[]) => cli.run([...parts, ...configuration()])
const stored = async ({ client_id: id }: Registered) =>
  (await host.store.records<Json>('clients').find(id)) !== undefined
const authorize = ({ client_id: id }: Registered) =>
  fetch(`${issuer}/authorize?${new URLSearchParams({ client_id: id, redirect_uri: redirectUri }).toString()}`, {
    redirect: 'manual',
    headers: fromAnotherAddress(),
  })

/** Registers until it is told to wait. */
const registerAll = async (metadata: unknown = web): Promise<Registered[]> => {
  const made: Registered[] = []
  for (;;) {
    const answer = await ask(metadata)
    if (answer.status !== 201) {
      expectRefusal(answer, 429, 'temporarily_unavailable')
      return made
    }
    made.push(answer.body as unknown as Registered)
  }
}

describe('a registration that nobody vouches for', () => {
  it('has 4 KiB of metadata, when it is made and when it is changed; one with a token may have more', async () => {
    expectRefusal(await ask(metadataOf(4200)), 400, 'invalid_client_metadata')
    const made = (await ask(metadataOf(3000))).body as unknown as Registered
    const changed = await manage('PUT', made, { ...metadataOf(4200), client_id: made.client_id })
    expectRefusal(changed, 400, 'invalid_client_metadata')
    expect((await manage('GET', made)).status).toBe(200)
    const { stdout } = await run('registrations', 'issue', '--json')
    await register(issuer, metadataOf(4200), (JSON.parse(stdout) as Record<string, string>)['initial_access_token'])
  })

  it('has ten contacts of 254 characters at most', async () => {
    const contacts = (count: number, length: number) => ({ ...web, contacts: Array(count).fill('x'.repeat(length)) })
    expect((await ask(contacts(10, 254))).status).toBe(201)
    expectRefusal(await ask(contacts(11, 20)), 400, 'invalid_client_metadata')
    expectRefusal(await ask(contacts(1, 255)), 400, 'invalid_client_metadata')
  })
})

describe('one address', () => {
  const metric = async (name: string): Promise<number> => {
    const text = await (await fetch(`${host.server.admin}/metrics`)).text()
    return Number(new RegExp(`^${name}\\{share="registrations"\\} (.*)$`, 'm').exec(text)?.[1])
  }

  it('has a tenth of the share in bytes, also of what it changes later, and others register meanwhile', async () => {
    const before = await metric('signet_store_share_bytes')
    const small = await registerAll()
    const large: Registered[] = []
    for (const one of small) {
      const changed = await manage('PUT', one, { ...metadataOf(3300), client_id: one.client_id })
      expect(changed.status).toBe(200)
      large.push(changed.body as unknown as Registered)
    }
    expect(small.length).toBeGreaterThan(5)
    const taken = (await metric('signet_store_share_bytes')) - before
    expect(taken).toBeLessThanOrEqual((await metric('signet_store_share_limit_bytes')) / 10)
    expect((await ask(web, '203.0.113.1')).status).toBe(201)
    for (const one of large) expect((await manage('DELETE', one)).status).toBe(204)
  })

  it('has an hour for clients that no request names, and unused_days for others', async () => {
    const [unseen, authorized, managed] = [
      await register(issuer, web),
      await register(issuer, web),
      await register(issuer, web),
    ]
    host.later(hour / 2)
    expect((await authorize(authorized)).status).toBeLessThan(400)
    expect((await manage('GET', managed)).status).toBe(200)
    host.later(hour)
    expect(await stored(unseen)).toBe(false)
    expect(await stored(authorized)).toBe(true)
    expect((await manage('GET', managed)).status).toBe(200)
    host.later(31 * 24 * hour)
    expect(await stored(authorized)).toBe(false)
    expect(await stored(managed)).toBe(false)
    host.later(-(31 * 24 * hour + 1.5 * hour))
  })

  it('keeps no more than a tenth by naming each client once', async () => {
    const first = await registerAll()
    for (const one of first) await authorize(one)
    host.later(1.5 * hour)
    const second = await registerAll()
    expect(second.length).toBeGreaterThan(0)
    for (const one of second) await authorize(one)
    host.later(1.5 * hour)
    const left = await Promise.all([...first, ...second].map(stored))
    expect(left.filter(Boolean)).toHaveLength(first.length)
    host.later(-3 * hour)
  })
})

describe('signet clients remove --unused', () => {
  it('removes what one address has registered and nobody has used, or all of that', async () => {
    const [mine, other] = [(await ask(web)).body, (await ask(web, '203.0.113.9')).body] as unknown as Registered[]
    const vouched = JSON.parse((await run('registrations', 'issue', '--json')).stdout) as Record<string, string>
    const kept = await register(issuer, web, vouched['initial_access_token'])
    if (mine === undefined || other === undefined) throw new Error('not registered')
    const removed = await run('clients', 'remove', '--unused', '--address', address, '--json')
    expect(JSON.parse(removed.stdout)).toEqual({ removed: 1 })
    expect([await stored(mine), await stored(other)]).toEqual([false, true])
    expect((await run('clients', 'remove', '--unused')).stdout).toMatch(/^Removed \d+ clients?\n$/)
    expect([await stored(other), await stored(kept)]).toEqual([false, true])
  })

  it('asks for exactly one of an id and --unused, and for an address that is one', async () => {
    for (const wrong of [
      ['clients', 'remove'],
      ['clients', 'remove', 'x', '--unused'],
      ['clients', 'remove', '--address', address],
      ['clients', 'remove', '--unused', '--address', 'example.com'],
    ])
      expect((await run(...wrong)).code).toBe(1)
  })
})
