/**
 * Does one signer that takes 2 s move the requests that another one serves? `npx tsx test/bench/slow-signer.ts [seconds]`:
 * client credentials signed by local keys, alone and while people redeem codes whose id_tokens wait for a slow backend
 * (a double); in turns, in one process.
 */
import { performance } from 'node:perf_hooks'
import { basic } from '../adversarial/support/clients.js'
import { inParallel, startChaosServer } from '../faults/signer-driver.js'
import { serviceClient } from '../support/server.js'

const seconds = Number(process.argv[2] ?? 4)
const rounds = 5
const width = 8
const waiting = 64

const chaosKey = { kid: 'slow', alg: 'ES256', signer: 'chaos', ref: 'slow', purposes: ['id_token'] }
const localKey = {
  kid: 'quick',
  alg: 'ES256',
  signer: 'local',
  ref: 'quick.pem',
  purposes: ['access_token', 'userinfo'],
}
await using server = await startChaosServer({ keys: [localKey, chaosKey] })
const { host, chaos } = server
const form = { grant_type: 'client_credentials', scope: 'read' }

const p99 = async (): Promise<number> => {
  const latencies: number[] = []
  const end = performance.now() + seconds * 1000
  await inParallel(Infinity, width, async () => {
    if (performance.now() > end) throw new Error('over')
    const asked = performance.now()
    const { status } = await host.token(form, { authorization: basic(serviceClient) })
    if (status !== 200) throw new Error(`status ${status}`)
    latencies.push(performance.now() - asked)
  }).catch((error: unknown) => {
    if (!(error instanceof Error) || error.message !== 'over') throw error
  })
  latencies.sort((a, b) => a - b)
  return latencies[Math.floor(latencies.length * 0.99)] ?? NaN
}

const redeemAll = async (until: () => boolean): Promise<number> => {
  let served = 0
  await Promise.all(
    Array.from({ length: waiting }, async () => {
      while (!until()) {
        const { code } = await host.mint.code()
        if ((await host.redeem(code)).status === 200) served++
      }
    }),
  )
  return served
}

await p99()
for (let round = 1; round <= rounds; round++) {
  const alone = await p99()
  chaos.tell({ latencyMs: 1900 })
  let over = false
  const redeeming = redeemAll(() => over)
  const beside = await p99()
  over = true
  const served = await redeeming
  chaos.tell({})
  const change = ((beside / alone - 1) * 100).toFixed(0)
  console.log(
    `p99 alone ${alone.toFixed(2)} ms, beside ${waiting} slow signatures ${beside.toFixed(2)} ms (${change} %), ${served} codes redeemed`,
  )
}
