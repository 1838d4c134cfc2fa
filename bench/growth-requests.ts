import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import Table from 'cli-table3'
import { openEmbedded } from '../stores/embedded/open-embedded.js'
import { basic } from '../test/support/clients/clients.js'
import { createClient } from '../test/support/server/processes.js'
import { createProver } from '../test/support/clients/dpop-proof.js'
import { apiScope, codeVerifier, confidential, publicClient, redirectUri } from './contestant.js'
import { counts, fill, kindsOf, timeBoth, type Times } from './growth-kinds.js'
import { startSignet, type Signet } from './signet.js'

/**
 * Measures what a client waits for when the embedded store is full, compared with a service whose store is nearly
 * empty: one request at a time, to each in turn, over a kept connection.
 */
const { values } = parseArgs({ options: counts })
const maxSizeMb = 32_768
const few = 1000
const samples = Number(values.samples)

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const setting = { alg: 'ES256', privateKey, logLevel: 'info', maxSizeMb } as const
const client = createClient()

const fillStore = async ({ directory }: Signet, most: number): Promise<readonly number[]> => {
  await using backend = await openEmbedded({ path: join(directory, 'store'), clock: Date.now, max_size_mb: maxSizeMb })
  const made: number[] = []
  for (const { name, count, fill: make } of kindsOf({ records: backend, ephemeral: backend }, values)) {
    process.stderr.write(`${name} …\n`)
    made.push(await fill(make, Math.min(count, most), performance.now() + Number(values.seconds) * 1000))
  }
  return made
}

const post = async ({ port, paths }: Signet, form: Record<string, string>, headers: Record<string, string> = {}) => {
  const answer = await client.post(`http://127.0.0.1:${String(port)}${paths.token}`, form, headers)
  if (answer.status !== 200) throw new Error(`${String(answer.status)} ${JSON.stringify(answer.body)}`)
  return answer.body
}

const refreshing = async (server: Signet): Promise<() => Promise<unknown>> => {
  const scope = `openid offline_access ${apiScope}`
  const codes = await server.mintCodes(few, { clientId: publicClient.id, scope, forResource: true })
  const tokens: string[] = []
  const exchange = async (form: Record<string, string>) =>
    String((await post(server, { ...form, client_id: publicClient.id }))['refresh_token'])
  for (const code of codes)
    tokens.push(
      await exchange({
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirectUri,
        code_verifier: codeVerifier,
      }),
    )
  return async () => {
    const one = Math.floor(Math.random() * few)
    tokens[one] = await exchange({ grant_type: 'refresh_token', refresh_token: tokens[one] ?? '' })
  }
}

const machine = { grant_type: 'client_credentials', scope: apiScope }

const proving = async (server: Signet): Promise<() => Promise<unknown>> => {
  const prover = createProver()
  const url = `http://127.0.0.1:${String(server.port)}${server.paths.token}`
  const authorization = basic({ client_id: confidential.id, client_secret: confidential.secret })
  const { headers } = await client.post(url, machine, { authorization, dpop: prover.proof(url, undefined) })
  // Made in advance, because the client's computation is not part of the wait.
  const proofs = Array.from({ length: 2 * samples }, () => prover.proof(url, String(headers['dpop-nonce'])))
  return () => post(server, machine, { authorization, dpop: proofs.pop() ?? '' })
}

const asClients = (server: Signet, count: number) => () => {
  const client_id = `client-${String(Math.floor(Math.random() * count))}`
  return post(server, machine, { authorization: basic({ client_id, client_secret: confidential.secret }) })
}

await using empty = await startSignet(setting)
await using full = await startSignet(setting)
const [, fewClients = 0] = await fillStore(empty, few)
const [families = 0, clients = 0, replays = 0] = await fillStore(full, Infinity)

const cases = [
  ['refresh, rotated', families, await refreshing(empty), await refreshing(full)],
  ['client_credentials, any client', clients, asClients(empty, fewClients), asClients(full, clients)],
  ['DPoP client_credentials', replays, await proving(empty), await proving(full)],
] as const

const table = new Table({
  head: ['request', 'entries of its kind', 'p50 µs empty', 'full', 'ratio', 'p99 µs empty', 'full', 'ratio'],
  style: { head: [], border: [] },
})
for (const [name, count, ...operations] of cases) {
  await timeBoth(operations, samples)
  const [little, much] = (await timeBoth(operations, samples)) as [Times, Times]
  const row = (['p50', 'p99'] as const).flatMap((at) => [
    little[at].toFixed(0),
    much[at].toFixed(0),
    (much[at] / little[at]).toFixed(2),
  ])
  table.push([name, count.toLocaleString('en-US'), ...row])
}
client.close()
console.log(table.toString())
