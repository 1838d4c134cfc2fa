import { generateKeyPairSync } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Case } from './case.js'
import { clientCredentials, redemptions } from './cases.js'
import type { Options } from './compete.js'
import { apiScope, confidential, type Contestant } from './contestant.js'
import { startKms } from './kms.js'
import { Load } from './load.js'
import { startSignet } from './signet.js'

/** p99 in milliseconds of the requests that the quick signer serves. */
export interface SlowSignerRound {
  readonly alone: number
  /** The same once more: what the measurement itself is worth. */
  readonly again: number
  /** While others wait for the slow signer. */
  readonly beside: number
}

export interface SlowSignerFigures {
  readonly waiting: number
  readonly rounds: readonly SlowSignerRound[]
  /** Codes that were redeemed meanwhile: each waited for one slow signature. */
  readonly redeemed: number
}

/** Connections that wait for the slow signer all the time, and those that do not. */
const waiting = 16
const quick = 8

/** Milliseconds until those who wait are spread over the time that a signature takes. */
const spreadMs = 2500
const shortestSignatureMs = 900

const entry: Case = clientCredentials('ES256', undefined)

/**
 * Access tokens are signed by a local key, id_tokens by the KMS double, which takes up to 1.5 s for each: within the 2 s
 * after which it would count as failed. Client credentials alone, once more alone, and while codes are redeemed, in
 * an order that turns.
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
