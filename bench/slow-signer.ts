import { generateKeyPairSync } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Case } from './case.js'
import { clientCredentials, redemptions } from './cases.js'
import type { Options } from './compete.js'
import { apiScope, confidential, type Contestant } from './contestant.js'
import { startKms } from './kms.js'
import { Load } from './load.js'
import { startSignet } from './signet.js'

/** p99 in milliseconds of requests that the quick signer serves. */
export interface SlowSignerRound {
  readonly alone: number
  /** A repeated measurement, which shows the precision. */
  readonly again: number
  /** While other requests wait for the slow signer. */
  readonly beside: number
}

export interface SlowSignerFigures {
  readonly waiting: number
  readonly rounds: readonly SlowSignerRound[]
  /** Codes redeemed meanwhile. Each waited for one slow signature. */
  readonly redeemed: number
}

/** Connections that always wait for the slow signer, and those that never do. */
const waiting = 16
const quick = 8

/** Milliseconds until waiting requests are spread over the duration of a signature. */
const spreadMs = 2500
const shortestSignatureMs = 900

const entry: Case = clientCredentials('ES256', undefined)

/**
 * A local key signs access tokens, and the KMS double signs id_tokens in up to 1.5 s each, less than the 2 s after
 * which it would count as failed. Measures client credentials alone, alone again, and while codes are redeemed, in
 * rotating order.
 */
export const measureSlowSigner = async (load: Load, { rounds, seconds }: Options): Promise<SlowSignerFigures> => {
  await using kms = await startKms('1', 'slow')
  const ref = (await kms.provider.create?.('bench', 'ES256', AbortSignal.timeout(20_000))) ?? ''
  await using signet: Contestant = await startSignet({
    alg: 'ES256',
    privateKey: generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
    logLevel: 'info',
    idTokensBy: { endpoint: kms.endpoint, ref },
  })
  await using others = await Load.start()
  const target = { port: signet.port, pid: signet.pid }
  const { requests } = await entry.prepare(signet, 0, () => Promise.resolve([]))

  const p99 = async (): Promise<number> => {
    const job = { ...target, connections: quick, requests, repeat: true, warmMs: 500, measureMs: seconds * 1000 }
    return (await load.run(job)).p99
  }

  let redeemed = 0
  const beside = async (): Promise<number> => {
    const measureMs = spreadMs + 500 + seconds * 1000
    const count = waiting * Math.ceil(1 + measureMs / shortestSignatureMs)
    const codes = await redemptions(signet, count, {
      clientId: confidential.id,
      scope: `openid ${apiScope}`,
      forResource: true,
    })
    const job = { ...target, connections: waiting, requests: codes, repeat: false, warmMs: 0, measureMs }
    const [{ count: done }, measured] = await Promise.all([others.run(job), pause(spreadMs).then(p99)])
    redeemed += done
    return measured
  }

  await p99()
  const done: SlowSignerRound[] = []
  const parts = [
    ['alone', p99],
    ['again', p99],
    ['beside', beside],
  ] as const
  for (let round = 0; round < rounds; round++) {
    const measured = { alone: 0, again: 0, beside: 0 }
    for (let part = 0; part < parts.length; part++) {
      const [name, measure] = parts[(part + round) % parts.length] ?? parts[0]
      measured[name] = await measure()
    }
    done.push(measured)
  }
  return { waiting, rounds: done, redeemed }
}
