import { randomUUID } from 'node:crypto'
import { setTimeout as after } from 'node:timers/promises'
import type { JSONWebKeySet } from 'jose'
import { basic } from '../adversarial/support/clients.js'
import { startTokenServer, type Answer, type TokenServer } from '../adversarial/support/token-server.js'
import { assertionClaims, assertionType, newAssertionKey, signAssertion } from '../support/client-assertion.js'
import { createProver } from '../support/dpop-proof.js'
import { auditBooks } from '../support/ledger/audit-books.js'
import { Ledger } from '../support/ledger/ledger.js'
import type { Clock } from '../../core/clock.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { openRedis } from '../../core/storage/redis/open-redis.js'
import { serviceClient } from '../support/server.js'
import { patiently } from '../support/test-stores.js'

type Json = Record<string, unknown>
type Kind = 'machine' | 'code' | 'proof' | 'assertion' | 'refresh'

export const keyPrefix = 'signet:'
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const key = newAssertionKey('ES256', 'one')
/** A client that signs assertions. */
export const signer = {
  client_id: 'signer',
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['client_credentials'],
  scope: 'read',
  jwks: { keys: [key.publicJwk] },
}

export interface StoresLoad extends AsyncDisposable {
  readonly host: TokenServer
  readonly ledger: Ledger
  /** Answers by kind and status, `proof 200`; what a nonce that is no more cost is not among them. */
  readonly answers: ReadonlyMap<string, number>
  /** What honest clients were told beside 200 and 503. */
  readonly affronts: readonly string[]
  /** Milliseconds of the slowest answer. */
  slowest(): number
  /** The same of those that took no store: what the machine alone costs. */
  noise(): number
  /** Proofs and assertions that were accepted. */
  accepted(): number
  /** One honest request. */
  ask(kind: Kind): Promise<number>
  /** Honest requests of all kinds, so many a second, for so long. */
  run(perSecond: number, milliseconds: number): Promise<void>
  /** Everything that was accepted once more; resolves with how many were accepted again. */
  replay(): Promise<number>
  /** So many codes and refresh tokens are there beforehand: nothing is put into the store while it fails. */
  stock(count: number): Promise<void>
  /**
   * All who were interrupted ask once more. Of codes `late` have tokens now; `lost` were used up by a request whose answer did
   * not come: they have been used once, and nobody has tokens by them.
   */
  finish(): Promise<{ readonly late: number; readonly lost: number }>
  ready(): Promise<boolean>
  contradictions(): Promise<readonly string[]>
}

export interface StoresLoadOptions {
  /** Of `storage.ephemeral`. */
  readonly options: Json & { readonly uri: string }
  /** The epoch of the store began long ago. */
  readonly settled?: boolean
  /** `storage.records`, and the way to it for whoever prepares; default: embedded, and nobody refreshes. */
  readonly records?: { readonly section: Json; readonly open: (clock: Clock) => Promise<StorageBackend> }
}

const form = { grant_type: 'client_credentials', scope: 'read' }

/** A request of `signer` with an assertion that was not seen before. */
export const signedForm = (issuer: string, now: number) => {
  const claims = assertionClaims('signer', issuer, now)
  const client_assertion = signAssertion(key, { alg: 'ES256', kid: 'one' }, claims)
  return { ...form, client_assertion_type: assertionType, client_assertion }
}

/** The running product, records and the rest on stores that fail, under honest clients who keep the books. */
export const startStoresLoad = async ({ options, settled = true, records }: StoresLoadOptions): Promise<StoresLoad> => {
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
      storage: {
        ...(written['storage'] as Json),
        ...(records && { records: records.section }),
        ephemeral: { use: 'redis', options },
      },
      clients: [...(written['clients'] as Json[]), signer],
    }),
    ...(records && { openStore: records.open }),
  })
  const { issuer } = host.server
  const tokenUrl = `${issuer}/token`
  const ledger = new Ledger()
  const answers = new Map<string, number>()
  const affronts: string[] = []
  const prover = createProver('ES256', host.now)
  const accepted: (() => Promise<Answer>)[] = []
  const codes: string[] = []
  const tokens: string[] = []
  const interrupted: string[] = []
  let nonce: string | undefined
  let slowest = 0
  let noise = 0

  const keep = async (once: string, honest: boolean, send: () => Promise<Answer>): Promise<Answer> => {
    const begun = performance.now()
    const answer = await ledger.ask({ once, honest }, send)
    slowest = Math.max(slowest, performance.now() - begun)
    return answer
  }
  const send: Record<Kind, () => Promise<Answer>> = {
    machine: async () => {
      const begun = performance.now()
      const answer = await keep(randomUUID(), true, () => host.token(form, { authorization: basic(serviceClient) }))
      noise = Math.max(noise, performance.now() - begun)
      return answer
    },
    code: async () => {
      const code = codes.pop() ?? (await host.mint.code()).code
      const answer = await keep(code, true, () => host.redeem(code))
      if (answer.status !== 200) interrupted.push(code)
      return answer
    },
    refresh: async () => {
      // A client has one request under way, and asks again with the token that got no answer.
      const token = tokens.pop() ?? (await host.mint.refreshToken()).token
      const answer = await keep(token, true, () => host.refresh(token))
      tokens.push(answer.status === 200 ? String(answer.body['refresh_token']) : token)
      return answer
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
      const signed = signedForm(issuer, host.now())
      const resend = (honest: boolean) => keep(signed.client_assertion, honest, () => host.token(signed))
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

  return {
    host,
    ledger,
    answers,
    affronts,
    slowest: () => slowest,
    noise: () => noise,
    accepted: () => accepted.length,
    ask,
    run: async (perSecond, milliseconds) => {
      const kinds: readonly Kind[] = ['machine', 'proof', 'assertion', 'code', ...(records ? ['refresh' as const] : [])]
      const asked: Promise<unknown>[] = []
      let over = false
      const end = after(milliseconds).then(() => (over = true))
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
    stock: async (count) => {
      while (codes.length < count) codes.push((await patiently(() => host.mint.code({}, { ttlSeconds: 600 }))).code)
      while (tokens.length < count) tokens.push((await patiently(() => host.mint.refreshToken())).token)
    },
    finish: async () => {
      let late = 0
      let lost = 0
      for (const code of interrupted.splice(0)) {
        const { status } = await keep(code, false, () => host.redeem(code))
        if (status === 200) late += 1
        else lost += 1
      }
      for (const token of tokens.splice(0)) {
        const { status, body } = await keep(token, true, () => host.refresh(token))
        if (status !== 200) affronts.push(`refresh ${String(status)} ${String(body['error'])}`)
        else tokens.push(String(body['refresh_token']))
      }
      return { late, lost }
    },
    ready: async () => (await fetch(`${host.server.admin}/health/ready`)).status === 200,
    contradictions: async () => {
      const keySet = (await (await fetch(`${issuer}/jwks.json`)).json()) as JSONWebKeySet
      return auditBooks({ ledger, audit: await host.server.audit(), keySet, issuer })
    },
    [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
  }
}
