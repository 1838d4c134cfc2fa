import { randomUUID } from 'node:crypto'
import { setTimeout as after } from 'node:timers/promises'
import { basic } from '../clients/clients.js'
import type { Answer, TokenServer } from '../server/token-server.js'
import { createProver } from '../clients/dpop-proof.js'
import { Ledger } from './ledger/ledger.js'
import { serviceClient } from '../server/server.js'
import { newAssertion, signedForm } from '../clients/signing-client.js'
import { patiently } from '../stores/test-stores.js'

type Kind = 'machine' | 'code' | 'proof' | 'assertion' | 'refresh'

const form = { grant_type: 'client_credentials', scope: 'read' }

export interface HonestClients {
  readonly ledger: Ledger
  /** Answers by kind and status, `proof 200`; what a nonce that is no more cost is not among them. */
  readonly answers: ReadonlyMap<string, number>
  /** What they got other than 200 and 503. */
  readonly affronts: readonly string[]
  /** Milliseconds of the slowest answer that took a store which may be down. */
  slowest(): number
  /** The same of those that took none: what the machine alone costs. */
  noise(): number
  /** Proofs and assertions that were accepted. */
  accepted(): number
  /** One request. */
  ask(kind: Kind): Promise<number>
  /** Requests of those who need no store that got 503, but for those that the whole process had no time for. */
  darkened(): Promise<number>
  /** Requests of all kinds, so many a second, for so many milliseconds or until `until` is over. */
  run(perSecond: number, until: number | Promise<unknown>): Promise<void>
  /** Everything that was accepted once more; resolves with how many were accepted again. */
  replay(): Promise<number>
  /** Where records may be down: so many codes and refresh tokens are there beforehand, and nothing is put into the failing store. */
  stock(count: number): Promise<void>
  /**
   * Where records may be down: all who were interrupted ask once more. Of codes `late` have tokens now; `lost` were used up by a
   * request whose answer did not come: they have been used once, and nobody has tokens by them.
   */
  finish(): Promise<{ readonly late: number; readonly lost: number }>
}

/** Clients who do nothing wrong, and keep the books. Where no records can be down, codes need no store, and nobody refreshes. */
export const createHonestClients = (host: TokenServer, recordsMayBeDown: boolean): HonestClients => {
  const { issuer, admin } = host.server
  const tokenUrl = `${issuer}/token`
  const storeless: readonly Kind[] = recordsMayBeDown ? ['machine'] : ['machine', 'code']
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

  const keep = async (kind: Kind, once: string, honest: boolean, send: () => Promise<Answer>): Promise<Answer> => {
    const begun = performance.now()
    const answer = await ledger.ask({ once, honest }, send)
    const took = performance.now() - begun
    if (storeless.includes(kind)) noise = Math.max(noise, took)
    else slowest = Math.max(slowest, took)
    return answer
  }
  const redeem = (code: string, honest: boolean) => keep('code', code, honest, () => host.redeem(code))
  const refresh = (token: string) => keep('refresh', token, true, () => host.refresh(token))
  const machine = (headers: { readonly dpop?: string } = {}) =>
    host.token(form, { authorization: basic(serviceClient), ...headers })

  const send: Record<Kind, () => Promise<Answer>> = {
    machine: () => keep('machine', randomUUID(), true, machine),
    code: async () => {
      const code = codes.pop() ?? (await host.mint.code()).code
      const answer = await redeem(code, true)
      if (answer.status !== 200) interrupted.push(code)
      return answer
    },
    refresh: async () => {
      // A client has one request under way, and asks again with the token that got no answer.
      const token = tokens.pop() ?? (await host.mint.refreshToken()).token
      const answer = await refresh(token)
      tokens.push(answer.status === 200 ? String(answer.body['refresh_token']) : token)
      return answer
    },
    proof: async () => {
      // As client libraries do: what was wrong with the nonce is put right, once.
      for (let attempt = 0; ; attempt += 1) {
        const dpop = prover.proof(tokenUrl, nonce)
        const resend = () => keep('proof', dpop, false, () => machine({ dpop }))
        const answer = await resend()
        nonce = answer.headers.get('dpop-nonce') ?? nonce
        if (answer.body['error'] === 'use_dpop_nonce' && attempt === 0) continue
        if (answer.status === 200) accepted.push(resend)
        return answer
      }
    },
    assertion: async () => {
      const assertion = newAssertion(issuer, host.now())
      const resend = (honest: boolean) => keep('assertion', assertion, honest, () => host.token(signedForm(assertion)))
      const answer = await resend(true)
      if (answer.status === 200) accepted.push(() => resend(false))
      return answer
    },
  }
  const ask = async (kind: Kind): Promise<number> => {
    const { status, body } = await send[kind]()
    const outcome = `${kind} ${String(status)}`
    answers.set(outcome, (answers.get(outcome) ?? 0) + 1)
    if (status !== 200 && status !== 503) affronts.push(`${outcome} ${String(body['error'])}`)
    return status
  }

  return {
    ledger,
    answers,
    affronts,
    slowest: () => slowest,
    noise: () => noise,
    accepted: () => accepted.length,
    ask,
    darkened: async () => {
      const metrics = await (await fetch(`${admin}/metrics`)).text()
      const shed = Number(/^signet_http_shed_total (\d+)/m.exec(metrics)?.[1] ?? 0)
      const refused = storeless.reduce((sum, kind) => sum + (answers.get(`${kind} 503`) ?? 0), 0)
      return Math.max(0, refused - shed)
    },
    run: async (perSecond, until) => {
      const kinds: Kind[] = ['machine', 'proof', 'assertion', 'code']
      if (recordsMayBeDown) kinds.push('refresh')
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
    stock: async (count) => {
      while (codes.length < count) codes.push((await patiently(() => host.mint.code({}, { ttlSeconds: 600 }))).code)
      while (tokens.length < count) tokens.push((await patiently(() => host.mint.refreshToken())).token)
    },
    finish: async () => {
      let late = 0
      let lost = 0
      for (const code of interrupted.splice(0)) {
        const { status } = await redeem(code, false)
        if (status === 200) late += 1
        else lost += 1
      }
      for (const token of tokens.splice(0)) {
        const { status, body } = await refresh(token)
        if (status !== 200) affronts.push(`refresh ${String(status)} ${String(body['error'])}`)
        else tokens.push(String(body['refresh_token']))
      }
      return { late, lost }
    },
  }
}
