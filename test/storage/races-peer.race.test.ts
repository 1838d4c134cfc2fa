import { generateKeyPairSync } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { challenge } from '../support/forge/mint.js'
import { createClient, type Client } from '../support/server/processes.js'
import { receive, startPinned, stop, type Pinned } from '../support/peer/pinned.js'
import { startStores, type BenchStores } from '../support/peer/stores.js'
import { freePort } from '../support/free-port.js'
import { redirectUri, webClient } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { raceCodes, type Race } from '../support/load/races-http/race.js'

// The races over HTTP on oidc-provider, two processes of it on MongoDB and Redis through the adapter that its documentation
// describes: that contract cannot say who was first, and the harness has to find that out.

const rounds = Number(process.env['SIGNET_RACE_ROUNDS'] ?? 20)

describeWith(['mongodb', 'redis'], 'two processes of oidc-provider on MongoDB and Redis', () => {
  const client: Client = createClient()
  const processes: Pinned[] = []
  const origins: string[] = []
  let stores: BenchStores

  beforeAll(async () => {
    stores = await startStores()
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const file = fileURLToPath(new URL('../support/peer/peer-server.js', import.meta.url))
    for (let index = 0; index < 2; index++) {
      const port = await freePort()
      origins.push(`http://127.0.0.1:${String(port)}`)
      const settings = {
        issuer: origins[0],
        port,
        alg: 'ES256',
        jwk: { ...privateKey.export({ format: 'jwk' }), kid: 'race', use: 'sig', alg: 'ES256' },
        clients: [{ ...webClient, response_types: ['code'], scope: 'openid offline_access email api:read' }],
        resource: 'https://api.bench.example',
        scope: 'api:read',
        stores: { mongodb: stores.mongodb, database: stores.database, redis: stores.redis, prefix: stores.prefix },
      }
      const started = startPinned('0,1', ['--no-warnings', file, JSON.stringify(settings)])
      processes.push(started)
      await receive(started)
    }
  })
  afterAll(async () => {
    client.close()
    await Promise.all(processes.map(stop))
    await stores[Symbol.asyncDispose]()
  })

  it(
    `${String(rounds)} codes: the harness finds those that were redeemed twice`,
    async () => {
      const [first] = processes as [Pinned]
      const wish = {
        clientId: 'web',
        scope: 'openid api:read',
        forResource: true,
        redirectUri,
        codeChallenge: challenge,
      }
      first.send({ count: rounds, ...wish })
      const { codes } = (await receive(first)) as { codes: string[] }
      const mint = { code: () => Promise.resolve({ code: codes.pop() ?? '', grantId: '' }) }
      const score = await raceCodes({ client, mint: mint as Race['mint'], origins }, rounds)
      console.log(JSON.stringify(score))
      expect(score.doubles).toBeGreaterThan(0)
      expect(score.withoutWinner).toBe(0)
    },
    60_000 + rounds * 200,
  )
})
