import { randomUUID } from 'node:crypto'
import { setTimeout as after } from 'node:timers/promises'
import type { JSONWebKeySet } from 'jose'
import { basic } from '../adversarial/support/clients.js'
import { startTokenServer, type Answer, type TokenServer } from '../adversarial/support/token-server.js'
import { assertionClaims, assertionType, newAssertionKey, signAssertion } from '../support/client-assertion.js'
import { createProver } from '../support/dpop-proof.js'
import { auditBooks } from '../support/ledger/audit-books.js'
import { Ledger } from '../support/ledger/ledger.js'
import { openRedis } from '../../core/storage/redis/open-redis.js'
import { serviceClient } from '../support/server.js'

type Json = Record<string, unknown>
type Kind = 'machine' | 'code' | 'proof' | 'assertion'

export const keyPrefix = 'signet:'
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const key = newAssertionKey('ES256', 'one')
const signer = {
  client_id: 'signer',
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['client_credentials'],
  scope: 'read',
  jwks: { keys: [key.publicJwk] },
}

export interface RedisLoad extends AsyncDisposable {
  readonly host: TokenServer
  readonly ledger: Ledger
  /** Answers by kind and status, `proof 200`; what a nonce that is no more cost is not among them. */
  readonly answers: ReadonlyMap<string, number>
  /** What honest clients were told beside 200 and 503. */
  readonly affronts: readonly string[]
  /** Milliseconds of the slowest answer that took a store which may be down. */
  slowest(): number
  /** The same of those that took none: what the machine alone costs. */
  noise(): number
  /** Proofs and assertions that were accepted. */
  accepted(): number
  /** One honest request. */
  ask(kind: Kind): Promise<number>
  /** Requests of those who need no Redis that got 503, but for those that the whole process had no time for. */
  darkened(): Promise<number>
  /** Honest requests of all kinds, so many a second, for so long or until `until` is over. */
  run(perSecond: number, until: number | Promise<unknown>): Promise<void>
  /** Everything that was accepted once more; resolves with how many were accepted again. */
  replay(): Promise<number>
  ready(): Promise<boolean>
  /** Of the ephemeral store in the readiness report. */
  health(): Promise<{ readonly status: string; readonly message?: string }>
  contradictions(): Promise<readonly string[]>
}

export interface RedisLoadOptions {
  /** Of `storage.ephemeral`. */
  readonly options: Json & { readonly uri: string }
  /** The epoch of the store began long ago. */
  readonly settled?: boolean
}

/** The running product, records embedded and the rest on Redis, under honest clients who keep the books. */
export const startRedisLoad = async ({ options, settled = true }: RedisLoadOptions): Promise<RedisLoad> => {
  if (settled) {
    const { sentinel, cluster } = options as {
      sentinel?: { name: string; nodes: string[] }
      cluster?: { nodes: string[] }
    }
    const settle = { uri: options.uri, key_prefix: keyPrefix, sentinel, cluster }
    const first = await openRedis({ ...settle, clock: () => Date.now() - 3_600_000 })
    await first[Symbol.asyncDispose]()
  }
  const host = await startTokenServer({
    log: quiet,
    configure: (written) => ({
      ...written,
      storage: { ...(written['storage'] as Json), ephemeral: { use: 'redis', options } },
      clients: [...(written['clients'] as Json[]), signer],
    }),
  })
  const { issuer } = host.server
  const tokenUrl = `${issuer}/token`
  const ledger = new Ledger()
  const answers = new Map<string, number>()
  const affronts: string[] = []
  const prover = createProver('ES256', host.now)
  const accepted: (() => Promise<Answer>)[] = []
  let nonce: string | undefined
  const slowest = { store: 0, none: 0 }

  const keep = async (
    once: string,
    honest: boolean,
    send: () => Promise<Answer>,
    takes: keyof typeof slowest = 'store',
  ): Promise<Answer> => {
    const begun = performance.now()
    const answer = await ledger.ask({ once, honest }, send)
    slowest[takes] = Math.max(slowest[takes], performance.now() - begun)
    return answer
  }
  const form = { grant_type: 'client_credentials', scope: 'read' }
  const send: Record<Kind, () => Promise<Answer>> = {
    machine: () => keep(randomUUID(), true, () => host.token(form, { authorization: basic(serviceClient) }), 'none'),
    code: async () => {
      const { code } = await host.mint.code()
      return keep(code, true, () => host.redeem(code), 'none')
    },
    proof: async () => {
      // As client libraries do: what was wrong with the nonce is put right, once.
      for (let attempt = 0; ; attempt += 1) {
        const dpop = prover.proof(tokenUrl, nonce)
        const resend = () => keep(dpop, false, () => host.token(form, { authorization: basic(serviceClient), dpop }))
        const answer = await resend()
        nonce = answer.headers.get('dpop-nonce') ?? nonce
        if (answer.body['error'] === 'use_dpop_nonce' && attempt === 0) continue
        if (answer.status === 200) accepted.push(resend)
        return answer
      }
    },
    assertion: async () => {
      const client_assertion = signAssertion(
        key,
        { alg: 'ES256', kid: 'one' },
        assertionClaims('signer', issuer, host.now()),
      )
      const signed = { ...form, client_assertion_type: assertionType, client_assertion }
      const resend = (honest: boolean) => keep(client_assertion, honest, () => host.token(signed))
      const answer = await resend(true)
      if (answer.status === 200) accepted.push(() => resend(false))
      return answer
    },
  }
  const ask = async (kind: Kind): Promise<number> => {
    const { status, body } = await send[kind]()
    const told = `${kind} ${String(status)}`
    answers.set(told, (answers.get(told) ?? 0) + 1)
    if (status !== 200 && status !== 503) affronts.push(`${told} ${String(body['error'])}`)
    return status
  }
  const report = async () =>
    (await (await fetch(`${host.server.admin}/health/ready`)).json()) as {
      readonly ready?: boolean
      readonly components: Readonly<Record<string, { status: string; message?: string }>>
    }

  return {
    host,
    ledger,
    answers,
    affronts,
    slowest: () => slowest.store,
    noise: () => slowest.none,
    accepted: () => accepted.length,
    ask,
    darkened: async () => {
      const metrics = await (await fetch(`${host.server.admin}/metrics`)).text()
      const shed = Number(/^signet_http_shed_total (\d+)/m.exec(metrics)?.[1] ?? 0)
      return Math.max(0, (answers.get('machine 503') ?? 0) + (answers.get('code 503') ?? 0) - shed)
    },
    run: async (perSecond, until) => {
      const kinds: readonly Kind[] = ['machine', 'proof', 'assertion', 'code']
      const asked: Promise<unknown>[] = []
      let over = false
      const end = (typeof until === 'number' ? after(until) : until).then(() => (over = true))
      const begun = performance.now()
      while (!over) {
        const due = ((performance.now() - begun) / 1000) * perSecond
        while (asked.length < due) asked.push(ask(kinds[asked.length % kinds.length] ?? 'machine'))
        await after(5)
      }
      await end
      await Promise.all(asked)
    },
    replay: async () => {
      const again = accepted.slice()
      let taken = 0
      const one = async (): Promise<void> => {
        for (let resend = again.pop(); resend !== undefined; resend = again.pop())
          if ((await resend()).status === 200) taken += 1
      }
      await Promise.all(Array.from({ length: 16 }, one))
      return taken
    },
    ready: async () => (await fetch(`${host.server.admin}/health/ready`)).status === 200,
    health: async () => (await report()).components['storage.ephemeral'] ?? { status: 'absent' },
    contradictions: async () => {
      const keySet = (await (await fetch(`${issuer}/jwks.json`)).json()) as JSONWebKeySet
      return auditBooks({ ledger, audit: await host.server.audit(), keySet, issuer })
    },
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  }
}
