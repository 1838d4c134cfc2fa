import { Agent, request } from 'node:http'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { gatherSeeds, type FuzzSeeds } from '../support/forge/fuzz-seeds.js'
import { fuzzedRequests, type Fuzzed } from '../support/forge/fuzzed-requests.js'
import { startTokenServer, type TokenServer } from '../support/server/token-server.js'

// Anything at all to every public route: SIGNET_FUZZ_RUNS requests, most of them nearly right.

const runs = Number(process.env['SIGNET_FUZZ_RUNS'] ?? 2000)
const goodEvery = 100

let host: TokenServer
const errors: string[] = []
const agent = new Agent({ keepAlive: true, maxSockets: 4 })
let seeds: FuzzSeeds

beforeAll(async () => {
  const log = { debug() {}, info() {}, warn() {}, error: (message: string) => void errors.push(message) }
  host = await startTokenServer({ log })
  seeds = await gatherSeeds(host.server.issuer, host.mint)
})
afterAll(async () => {
  agent.destroy()
  await host[Symbol.asyncDispose]()
})

const send = ({ method, target, headers, body }: Fuzzed) =>
  new Promise<{ status: number; text: string }>((resolve, reject) => {
    const { hostname, port } = new URL(host.server.issuer)
    const bytes = Buffer.from(body, 'latin1')
    const length = bytes.length === 0 ? {} : { 'content-length': bytes.length }
    const sent = request(
      { hostname, port, method, path: target, agent, headers: { ...headers, ...length } },
      (response) => {
        let received = ''
        response.on('data', (chunk: Buffer) => (received += chunk.toString()))
        response.on('end', () => resolve({ status: response.statusCode ?? 0, text: received }))
        response.on('error', reject)
      },
    )
    sent.on('error', reject)
    sent.end(bytes)
  })

describe(`${runs} requests of any kind`, () => {
  it(
    'never cause a 5xx, reveal no internals, and leave the service unchanged',
    async () => {
      let count = 0
      const statuses = new Map<number, number>()
      const requests = fuzzedRequests(seeds)
      await fc.assert(
        fc.asyncProperty(requests, async (input) => {
          const { status, text: answer } = await send(input)
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          expect(status).toBeGreaterThanOrEqual(200)
          expect(status).toBeLessThan(500)
          expect(answer).not.toMatch(/node_modules|\.[jt]s:\d+:\d+|node:internal/)
          expect(errors).toEqual([])
          if (++count % goodEvery === 0) await host.expectGood()
        }),
        { numRuns: runs },
      )
      await host.expectGood()
      expect(({} as Record<string, unknown>)['x']).toBeUndefined()
      // A fuzzer that is always turned away at the door has tested the door.
      for (const status of [200, 303, 400, 401, 404, 405]) expect([...statuses.keys()]).toContain(status)
      console.log(JSON.stringify(Object.fromEntries([...statuses].sort(([a], [b]) => a - b))))
    },
    60_000 + runs * 50,
  )
})
