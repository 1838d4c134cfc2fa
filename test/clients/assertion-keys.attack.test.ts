import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { noLog } from '../../core/observe/log.js'
import { assertionClaims, assertionType, newAssertionKey, signAssertion } from '../support/clients/client-assertion.js'
import { expectRefusal, startTokenServer, type Answer, type TokenServer } from '../support/server/token-server.js'

const key = newAssertionKey('ES256', 'first')
const next = newAssertionKey('ES256', 'next')
const json =
  (body: unknown): RequestListener =>
  (_request, response) =>
    void response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
const good = json({ keys: [{ kty: 'oct', k: 'AAAA' }, { kty: 'EC', crv: 'unknown' }, key.publicJwk] })

let site: Server
let listener: RequestListener
let asked: string[]
let host: TokenServer
const sockets = new Set<{ destroy(): void }>()
const names = Array.from({ length: 40 }, (_, index) => `remote-${String(index)}`)
let nextName = 0

const open = async (allow_private_addresses: boolean) => {
  const { port } = site.address() as { port: number }
  return startTokenServer({
    log: noLog,
    configure: (written) => ({
      ...written,
      outbound: { allow_private_addresses },
      clients: [
        ...(written['clients'] as object[]),
        ...names.map((client_id) => ({
          client_id,
          token_endpoint_auth_method: 'private_key_jwt',
          grant_types: ['client_credentials'],
          scope: 'read',
          jwks_uri: `http://localhost:${String(port)}/${client_id}`,
        })),
      ],
    }),
  })
}

beforeAll(async () => {
  site = createServer((request, response) => {
    asked.push(request.url ?? '')
    listener(request, response)
  })
  site.on('connection', (socket) => sockets.add(socket))
  site.listen(0, 'localhost')
  await once(site, 'listening')
  host = await open(true)
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
  for (const socket of sockets) socket.destroy()
  site.close()
})
beforeEach(() => {
  asked = []
  listener = good
})

const newName = (): string => names[nextName++] ?? ''

const ask = (clientId: string, by = key, kid: string | undefined = by.kid, on = host): Promise<Answer> =>
  on.token({
    grant_type: 'client_credentials',
    client_assertion_type: assertionType,
    client_assertion: signAssertion(by, { alg: 'ES256', kid }, assertionClaims(clientId, on.server.issuer, on.now())),
  })

describe('keys behind jwks_uri', () => {
  it('are fetched once for all waiting requests, and kept for ten minutes', async () => {
    const name = newName()
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask(name)))
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200))
    host.later(599_000)
    expect((await ask(name)).status).toBe(200)
    expect(asked).toEqual([`/${name}`])
    host.later(1_000)
    expect((await ask(name)).status).toBe(200)
    expect(asked).toHaveLength(2)
  })

  it('a new key is found by its kid, a withdrawn one is refused after ten minutes', async () => {
    const name = newName()
    expect((await ask(name)).status).toBe(200)
    host.later(60_000)
    listener = json({ keys: [next.publicJwk] })
    expect((await ask(name, next)).status).toBe(200)
    expectRefusal(await ask(name), 401, 'invalid_client')
    expect(asked).toHaveLength(2)
  })

  it('CA19 a flood of unknown kids: one fetch a minute, and the known kid still works', async () => {
    const name = newName()
    expect((await ask(name)).status).toBe(200)
    for (let minute = 1; minute <= 3; minute++) {
      host.later(60_000)
      const flood = await Promise.all(Array.from({ length: 50 }, (_, index) => ask(name, key, `k${String(index)}`)))
      for (const answer of flood) expectRefusal(answer, 401, 'invalid_client')
      host.later(500)
      expectRefusal(await ask(name, key, '../first'), 401, 'invalid_client')
      expect((await ask(name)).status).toBe(200)
      expect(asked).toHaveLength(1 + minute)
    }
  })

  const silent: RequestListener = () => undefined
  const never = (response: { write(text: string): unknown }) => {
    const timer = setInterval(() => response.write(' '), 100)
    sockets.add({ destroy: () => clearInterval(timer) })
  }
  it.each<[string, RequestListener]>([
    ['hangs', silent],
    ['drips', (_request, response) => never(response)],
    ['hangs after its head', (_request, response) => void response.writeHead(200).flushHeaders()],
    ['floods', (_request, response) => void response.end(`{"keys":[],"x":"${'x'.repeat(70_000)}"}`)],
    ['floods its head', (_request, response) => void response.writeHead(200, { x: 'x'.repeat(20_000) }).end()],
    ['redirects', (_request, response) => void response.writeHead(302, { location: '/elsewhere' }).end()],
    ['is gone', (_request, response) => void response.writeHead(404).end()],
    ['has another document', json({ jwks: [] })],
    ['has a page', (_request, response) => void response.end('<html>')],
    ['has a member twice', (_request, response) => void response.end('{"keys":[],"keys":[]}')],
    ['hangs up', (request) => void request.socket.destroy()],
    ['stops halfway', (request, response) => void response.write('{"keys":', () => request.socket.destroy())],
  ])('CA18 F35 a site that %s: 503 for its client, then at once; no other client waits', async (_, bad) => {
    const name = newName()
    listener = bad
    let done = false
    const waiting = ask(name).then((answer) => {
      done = true
      return answer
    })
    await host.expectGood()
    if (bad === silent) expect(done).toBe(false)
    const answer = await waiting
    expectRefusal(answer, 503, 'temporarily_unavailable')
    expect(answer.headers.get('retry-after')).not.toBeNull()
    expect(asked).toHaveLength(1)
    expectRefusal(await ask(name), 503, 'temporarily_unavailable')
    expect(asked).toHaveLength(1)
    listener = good
    host.later(10_000)
    expect((await ask(name)).status).toBe(200)
  })

  it('CA18 an outage does not affect clients whose keys are cached', async () => {
    const name = newName()
    expect((await ask(name)).status).toBe(200)
    listener = (_request, response) => void response.writeHead(500).end()
    host.later(60_000)
    // Nobody knows whether there is such a key now.
    expectRefusal(await ask(name, next), 503, 'temporarily_unavailable')
    expect((await ask(name)).status).toBe(200)
    host.later(540_000)
    expectRefusal(await ask(name), 503, 'temporarily_unavailable')
  })

  it('a set without a valid key authenticates nobody', async () => {
    const name = newName()
    listener = json({
      keys: [
        { ...key.publicJwk, use: 'enc' },
        { ...next.publicJwk, kid: 'first', d: 'AAAA' },
      ],
    })
    expectRefusal(await ask(name), 401, 'invalid_client')
    expectRefusal(await ask(name, key, 'first'), 401, 'invalid_client')
  })

  it('F35 a private address is not connected to unless that is allowed', async () => {
    await using strict = await open(false)
    expectRefusal(await ask(newName(), key, key.kid, strict), 503, 'temporarily_unavailable')
    expect(asked).toEqual([])
    await strict.expectGood()
  })
})
