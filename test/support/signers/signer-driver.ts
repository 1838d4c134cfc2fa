import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'
import { noLog } from '../../../core/observe/log.js'
import { basic } from '../clients/clients.js'
import { startTokenServer, type Answer, type TokenServerOptions } from '../server/token-server.js'
import { chaosNamed, type ChaosCommand } from './chaos-signer/commands.js'
import { auditServer, readKeySet } from '../load/ledger/audit-books.js'
import { Ledger } from '../load/ledger/ledger.js'
import { serviceClient } from '../server/server.js'

type Json = Record<string, unknown>

const module = (name: string): string => fileURLToPath(new URL(`./chaos-signer/${name}.ts`, import.meta.url))

export interface ChaosServerOptions {
  /** Keys in order of preference: those of `chaos` are in the double's hands, those of `local` in files. */
  readonly keys: readonly Json[]
  /** A deliberately broken build: no signature is verified before it leaves. */
  readonly unverified?: boolean
  readonly doubles?: TokenServerOptions['doubles']
  /** What the double does from the start. */
  readonly begin?: Partial<ChaosCommand>
}

/** The running product over the chaos signer, with a driver that keeps the books. */
export const startChaosServer = async ({ keys, unverified = false, doubles, begin = {} }: ChaosServerOptions) => {
  const name = randomUUID()
  const chaos = chaosNamed(name)
  chaos.tell(begin)
  const host = await startTokenServer({
    log: noLog,
    ...(doubles && { doubles }),
    configure: (written) => ({
      ...written,
      signers: {
        ...(written['signers'] as Json),
        chaos: { use: module(unverified ? 'unverified' : 'index'), options: { name } },
      },
      keys,
    }),
  })
  const ledger = new Ledger()

  return {
    host,
    chaos,
    ledger,
    /** Client credentials: nothing is used up. */
    machine: (): Promise<Answer> => {
      const form = { grant_type: 'client_credentials', scope: 'read' }
      return ledger.ask({ honest: true }, () => host.token(form, { authorization: basic(serviceClient) }))
    },
    redeem: (code: string, honest = true): Promise<Answer> =>
      ledger.ask({ once: code, honest }, () => host.redeem(code)),
    keySet: () => readKeySet(host.server.issuer),
    /** What the oracle finds wrong. */
    contradictions: () => auditServer(ledger, host.server),
    admin: (path: string) => fetch(host.server.admin + path),
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  }
}

/** The same, for as long as one test. */
export const startUntilTestEnds = async (options: ChaosServerOptions) => {
  const server = await startChaosServer(options)
  onTestFinished(() => server[Symbol.asyncDispose]())
  return server
}

export const chaosKey = (kid: string, more: Json = {}): Json => ({
  kid,
  alg: 'ES256',
  signer: 'chaos',
  ref: kid,
  ...more,
})
export const localKey = (kid: string, more: Json = {}): Json => ({
  kid,
  alg: 'ES256',
  signer: 'local',
  ref: kid,
  ...more,
})

/** So many at a time, until `count` were asked. */
export const inParallel = async (count: number, width: number, ask: (n: number) => Promise<unknown>): Promise<void> => {
  let next = 0
  const one = async (): Promise<void> => {
    while (next < count) await ask(next++)
  }
  await Promise.all(Array.from({ length: width }, one))
}
