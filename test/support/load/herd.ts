import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as after } from 'node:timers/promises'
import { basic } from '../clients/clients.js'
import { verifier, type Mint } from '../forge/mint.js'
import { createClient, type Answer } from '../server/processes.js'
import { assertionClaims, assertionType, newAssertionKey, signAssertion } from '../clients/client-assertion.js'
import { createProver } from '../clients/dpop-proof.js'
import { collectionFound } from '../stores/mongo-server/messages.js'
import type { FaultProxy } from '../stores/fault-proxy.js'
import type { Ledger } from './ledger/ledger.js'
import { redirectUri, serviceClient, webClient } from '../server/server.js'

const key = newAssertionKey('ES256', 'one')

/** Its keys are behind an address. */
export const remoteClient = (jwks_uri: string) => ({
  client_id: 'remote',
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['client_credentials'],
  scope: 'read',
  jwks_uri,
})

/** It is in the store alone. */
export const storedClient = {
  client_id: 'stored',
  client_secret: 'stored-secret-of-more-than-256-bits-for-tests',
  grant_types: ['client_credentials'],
  scope: 'read',
}

export interface KeySetServer extends AsyncDisposable {
  readonly url: string
  /** While it is, it hangs up on every caller. */
  down: boolean
  readonly hits: number
  /** How many asked at the same time, at most. */
  readonly atOnce: number
}

export const startKeySetServer = async (): Promise<KeySetServer> => {
  const seen = { down: false, hits: 0, atOnce: 0, underWay: 0 }
  const server: Server = createServer((request, response) => {
    seen.hits += 1
    seen.underWay += 1
    seen.atOnce = Math.max(seen.atOnce, seen.underWay)
    request.socket.once('close', () => (seen.underWay -= 1))
    if (seen.down) request.socket.resetAndDestroy()
    else response.end(JSON.stringify({ keys: [key.publicJwk] }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(seen, {
    url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/jwks.json`,
    [Symbol.asyncDispose]: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  })
}

export interface Reads {
  readonly count: number
  /** How many were under way at the same time, at most. */
  readonly atOnce: number
}

/** Counts what is read from each collection on its way through the proxy; `forget` starts over. */
export const countReads = ({ faults }: FaultProxy) => {
  const reads = new Map<string, { count: number; atOnce: number }>()
  const underWay = new Map<number, string>()
  faults.onRequest = (message) => {
    const name = collectionFound(message)
    if (name === undefined) return 'forward'
    // By the number of the request, which its reply repeats (MongoDB Wire Protocol, standard message header).
    underWay.set(message.readInt32LE(4), name)
    const seen = reads.get(name) ?? { count: 0, atOnce: 0 }
    const now = [...underWay.values()].filter((other) => other === name).length
    reads.set(name, { count: seen.count + 1, atOnce: Math.max(seen.atOnce, now) })
    return 'forward'
  }
  faults.onReply = (message) => {
    underWay.delete(message.readInt32LE(8))
    return message
  }
  return {
    of: (name: string): Reads => reads.get(name) ?? { count: 0, atOnce: 0 },
    forget: () => {
      reads.clear()
      underWay.clear()
    },
  }
}

export interface Herd {
  /** Each asks once, all at the same time. */
  ask(): Promise<readonly Answer[]>
  /**
   * Each asks, all at the same time, and again when Retry-After says so, until it has its tokens. Resolves with how many codes were
   * used up by a request whose answer did not come.
   */
  persist(): Promise<number>
  /** Every `Retry-After` that came with a 503. */
  readonly retryAfter: readonly string[]
  /** What was neither 200 nor 503, nor the nonce that a proof needs. */
  readonly affronts: readonly string[]
  readonly statuses: ReadonlyMap<number, number>
  close(): void
}

const form = { grant_type: 'client_credentials', scope: 'read' }

/** So many clients of four kinds: each needs something else of what was down. */
export const gatherHerd = async (
  size: number,
  { issuer, mint, ledger }: { readonly issuer: string; readonly mint: Mint; readonly ledger: Ledger },
): Promise<Herd> => {
  const url = `${issuer}/token`
  const client = createClient(size)
  const prover = createProver()
  const retryAfter: string[] = []
  const affronts: string[] = []
  const statuses = new Map<number, number>()
  const codes = new Map<number, string>()
  const shown = new Set<string>()
  let lost = 0
  for (let index = 3; index < size; index += 4) codes.set(index, (await mint.code({}, { ttlSeconds: 600 })).code)

  const keep = async (once: string | undefined, honest: boolean, send: () => Promise<Answer>): Promise<Answer> => {
    const answer = await ledger.ask({ ...(once !== undefined && { once }), honest }, send)
    const { status, headers, body } = answer
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (status === 503) retryAfter.push(String(headers['retry-after']))
    else if (!honest && body['error'] === 'invalid_grant') lost += 1
    else if (status !== 200 && body['error'] !== 'use_dpop_nonce') affronts.push(`${status} ${String(body['error'])}`)
    return answer
  }
  const kinds: readonly ((index: number) => Promise<Answer>)[] = [
    () => {
      const claims = assertionClaims('remote', issuer, Date.now())
      const client_assertion = signAssertion(key, { alg: 'ES256', kid: key.kid }, claims)
      const signed = { ...form, client_assertion_type: assertionType, client_assertion }
      return keep(client_assertion, true, () => client.post(url, signed))
    },
    () => keep(undefined, true, () => client.post(url, form, { authorization: basic(storedClient) })),
    async () => {
      // Each has a nonce of its own, as it would in a process of its own.
      for (let nonce: string | undefined, attempt = 0; ; attempt += 1) {
        const dpop = prover.proof(url, nonce)
        const send = () => client.post(url, form, { authorization: basic(serviceClient), dpop })
        const answer = await keep(dpop, false, send)
        if (answer.body['error'] !== 'use_dpop_nonce' || attempt > 0) return answer
        nonce = String(answer.headers['dpop-nonce'])
      }
    },
    (index) => {
      const code = codes.get(index) ?? ''
      const grant = { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier }
      // A client that met an outage does not know what became of the code.
      const isFirst = !shown.has(code)
      shown.add(code)
      return keep(code, isFirst, () => client.post(url, grant, { authorization: basic(webClient) }))
    },
  ]
  const ask = (index: number): Promise<Answer> => kinds[index % kinds.length]!(index)
  const persist = async (index: number): Promise<void> => {
    for (let answer = await ask(index); answer.status === 503; answer = await ask(index))
      await after(Number(answer.headers['retry-after']) * 1000)
  }
  const all = <T>(work: (index: number) => Promise<T>) =>
    Promise.all(Array.from({ length: size }, (_, index) => work(index)))

  return {
    ask: () => all(ask),
    persist: async () => {
      await all(persist)
      return lost
    },
    retryAfter,
    affronts,
    statuses,
    close: () => client.close(),
  }
}
