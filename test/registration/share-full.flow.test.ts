import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { manage, post, register, type Registered } from '../support/clients/registration.js'
import { basic } from '../support/clients/clients.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { redirectUri, serviceClient, startServer, type TestServer } from '../support/server/server.js'
import { expectRefusal } from '../support/server/token-server.js'

// Anybody registers clients until their share of the store is full.

type Json = Record<string, unknown>
type Storage = Record<string, { readonly options: Json }>

const web = { redirect_uris: [redirectUri] }
/** As large as a few registrations fill the share. */
const large = {
  redirect_uris: [0, 1].map((index) => `${redirectUri}/${String(index)}/${'x'.repeat(1500)}`),
}

let cli: CommandLine
let server: TestServer
let issuer: string
beforeAll(async () => {
  cli = await openCommandLine()
  server = await startServer({
    // Outages are what this is for.
    log: { debug() {}, info() {}, warn() {}, error() {} },
    configure: (written) => ({
      ...written,
      storage: Object.fromEntries(
        Object.entries(written['storage'] as Storage).map(([role, chosen]) => [
          role,
          { ...chosen, options: { ...chosen.options, max_size_mb: 16 } },
        ]),
      ),
      trusted_proxies: ['127.0.0.0/8'],
      registration: { mode: 'open' },
      rate_limits: { register: { address_per_minute: 10_000, address_open: 10_000 } },
    }),
  })
  ;({ issuer } = server)
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await cli[Symbol.asyncDispose]()
})

it('AN01 a full share of registrations stops those of strangers, and nothing else; who deletes one makes room', async () => {
  const mine: Registered[] = []
  let answer = await post(issuer, large)
  for (; answer.status === 201; answer = await post(issuer, large)) mine.push(answer.body as unknown as Registered)
  expect(mine.length).toBeGreaterThan(10)
  expect(mine.length).toBeLessThan(150)
  expectRefusal(answer, 503, 'temporarily_unavailable')
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)

  // Who brings an initial access token has a place, whoever else registers.
  const issued = await cli.run(['registrations', 'issue', '--json', '--config', join(server.directory, 'signet.yaml')])
  await register(issuer, large, (JSON.parse(issued.stdout) as Record<string, string>)['initial_access_token'])
  const got = await fetch(`${issuer}/token`, {
    method: 'POST',
    headers: { authorization: basic(serviceClient) },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'read' }),
  })
  expect(got.status, await got.text()).toBe(200)
  const [first, second, third] = mine
  if (first === undefined || second === undefined || third === undefined) throw new Error('none was registered')
  expect((await manage('GET', first)).status).toBe(200)

  expectRefusal(await post(issuer, large), 503, 'temporarily_unavailable')
  expect((await manage('DELETE', first)).status).toBe(204)
  await register(issuer, large)
  expectRefusal(await post(issuer, large), 503, 'temporarily_unavailable')
  // A change of one that is in the share needs no more of it.
  for (const one of [second, third])
    expect((await manage('PUT', one, { ...web, client_id: one.client_id })).status).toBe(200)
  await register(issuer, web)
})
