import { createLocalJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose'
import { expect, onTestFinished } from 'vitest'
import type { SlotRecord } from '../../../core/keys/slots/slot.js'
import { UserAgent } from '../../support/clients/user-agent.js'
import { authorizeUrl, verifier } from '../../support/forge/mint.js'
import { freePort } from '../../support/free-port.js'
import { prepareRestarts, type Json, type ReloadServer } from '../../support/server/reloading.js'
import { person, publicClient, redirectUri, serviceClient, webClient } from '../../support/server/server.js'
import { openTestRecords } from '../../support/stores/test-stores.js'

export const hour = 3_600_000
export const day = 24 * hour
const start = Date.parse('2026-11-26T00:00:00Z')

export const rotate = { every_days: 30, announce_days: 7, ahead: 1, max_keys: 4 }

/** Slots for access tokens and ID tokens, with their keys in `signer`. */
export const slotsIn = (signer: string): readonly Json[] => [
  { slot: 'es', alg: 'ES256', signer, rotate },
  { slot: 'rs', alg: 'RS256', signer, rotate, purposes: ['id_token'] },
  { slot: 'ed', alg: 'EdDSA', signer, rotate, purposes: ['id_token'] },
]

export interface Rotating {
  readonly a: ReloadServer
  readonly b: ReloadServer
  readonly time: { now: number }
  /** Changes the configuration of both replicas. */
  reconfigure(change: (configuration: Json) => Json): Promise<void>
  records(): Promise<readonly SlotRecord[]>
}

/** Prepares a deployment whose clock is that of the test. */
export const prepareRotation = async (keys: readonly Json[], signers: Json = {}) => {
  const time = { now: start }
  const deployment = await prepareRestarts({
    clock: () => time.now,
    // Time passes with the clock, so that the slots do not take its steps for jumps.
    monotonic: () => time.now - start,
    configure: (written) => ({
      ...written,
      signers: { ...(written['signers'] as Json), ...signers },
      keys,
      clients: (written['clients'] as readonly Json[]).map((client) =>
        client['client_id'] === publicClient.client_id ? { ...client, id_token_signed_response_alg: 'EdDSA' } : client,
      ),
      id_token_signing_alg: 'RS256',
      access_token_signing_alg: 'ES256',
    }),
  })
  onTestFinished(() => deployment[Symbol.asyncDispose]())
  return { ...deployment, time }
}

/** Lets a minute and a half pass in which all replicas look; then what is due is done, and known to all. */
export const look = async (time: { now: number }, ...replicas: readonly ReloadServer[]): Promise<void> => {
  for (let round = 0; round < 6; round++) {
    for (const replica of replicas) await replica.lookAtSlots()
    time.now += 18_000
  }
}

/** Two replicas on one store. Signets of one process share the embedded store as those of one host do. */
export const startTwo = async (keys: readonly Json[], signers: Json = {}): Promise<Rotating> => {
  const { start: begin, edit, time } = await prepareRotation(keys, signers)
  const a = await begin()
  onTestFinished(() => a[Symbol.asyncDispose]())
  const port = await freePort()
  let listen: unknown
  await edit((written) => {
    listen = written['listen']
    return { ...written, listen: { host: '127.0.0.1', port } }
  })
  const b = await begin()
  onTestFinished(() => b[Symbol.asyncDispose]())
  await look(time, a, b)
  return {
    ...{ a, b, time },
    async reconfigure(change) {
      for (const [replica, own] of [
        [a, listen],
        [b, { host: '127.0.0.1', port }],
      ] as const) {
        await edit((written) => ({ ...change(written), listen: own }))
        expect(await replica.reload()).toMatchObject({ status: 200 })
      }
    },
    async records() {
      await using store = await openTestRecords(`${a.directory}/store`, () => time.now)
      return (await store.records<SlotRecord>('key_slots').list(undefined, 100)).map(({ record }) => record)
    },
  }
}

export const keySetOf = async ({ origin }: ReloadServer): Promise<JSONWebKeySet> =>
  (await (await fetch(`${origin}/jwks.json`)).json()) as JSONWebKeySet

const ask = (server: ReloadServer, client: Json, form: Record<string, string>): Promise<Response> => {
  const [id, secret] = [String(client['client_id']), client['client_secret']]
  return fetch(`${server.origin}/token`, {
    method: 'POST',
    ...(typeof secret === 'string' && { headers: { authorization: `Basic ${btoa(`${id}:${secret}`)}` } }),
    body: new URLSearchParams({ ...form, ...(secret === undefined && { client_id: id }) }),
  })
}

export const tokenOf = async (server: ReloadServer): Promise<string> => {
  const reply = await ask(server, serviceClient, { grant_type: 'client_credentials' })
  expect(reply.status).toBe(200)
  return ((await reply.json()) as { access_token: string }).access_token
}

/** Signs Alice in at a client, and returns its tokens. */
export const signIn = async (server: ReloadServer, client: Json, browser = new UserAgent()) => {
  const asked = { client_id: String(client['client_id']), scope: 'openid offline_access', prompt: 'consent' }
  const answer = await browser.authorize(authorizeUrl(server.issuer, asked), person)
  const code = answer.searchParams.get('code') ?? ''
  const exchange = { grant_type: 'authorization_code', redirect_uri: redirectUri, code_verifier: verifier }
  const reply = await ask(server, client, { ...exchange, code })
  expect(reply.status).toBe(200)
  return (await reply.json()) as { access_token: string; refresh_token: string; id_token: string }
}

export const refresh = (server: ReloadServer, client: Json, refresh_token: string): Promise<Response> =>
  ask(server, client, { grant_type: 'refresh_token', refresh_token })

/** Returns new ID tokens of a client, by its refresh token while that is valid. */
const createIdTokens = (client: Json): ((server: ReloadServer) => Promise<string>) => {
  let refreshToken: string | undefined
  return async (server) => {
    const reply = refreshToken === undefined ? undefined : await refresh(server, client, refreshToken)
    const tokens = reply?.ok
      ? ((await reply.json()) as Awaited<ReturnType<typeof signIn>>)
      : await signIn(server, client)
    refreshToken = tokens.refresh_token
    return tokens.id_token
  }
}

export const kidOfToken = (token: string): string => decodeProtectedHeader(token).kid ?? ''

/** Verifies a token as a relying party does that has these keys. */
export const verify = (token: string, keys: JSONWebKeySet, now: number) =>
  jwtVerify(token, createLocalJWKSet(keys), { currentDate: new Date(now) })

/** What other libraries verify once more: key sets, and tokens at their times. */
export class Evidence {
  readonly #lines: string[] = []
  readonly #keySets = new Map<JSONWebKeySet, number>()

  add(token: string, keys: JSONWebKeySet, now: number): void {
    const known = this.#keySets.get(keys) ?? this.#keySets.size
    if (known === this.#keySets.size) this.#lines.push(JSON.stringify(keys))
    this.#keySets.set(keys, known)
    this.#lines.push(JSON.stringify({ token, key_set: known, now: Math.floor(now / 1000) }))
  }

  get tokens(): number {
    return this.#lines.length - this.#keySets.size
  }

  toString(): string {
    return this.#lines.join('\n')
  }
}

/**
 * Lets days pass while both replicas issue tokens of each slot. Each token verifies at once with every key set that a
 * relying party may have cached in the hour before, and with the present one until it expires. Returns the kids that
 * have signed.
 */
export const letPass = async (
  { a, b, time }: Rotating,
  days: number,
  evidence?: Evidence,
): Promise<ReadonlySet<string>> => {
  const replicas = [a, b] as const
  const issue = [tokenOf, createIdTokens(webClient), createIdTokens(publicClient)]
  let cached: readonly { readonly at: number; readonly keys: JSONWebKeySet }[] = []
  let alive: readonly { readonly token: string; readonly until: number }[] = []
  const signers = new Set<string>()
  const end = time.now + days * day
  const check = async (token: string, keys: JSONWebKeySet): Promise<void> => {
    await verify(token, keys, time.now)
    evidence?.add(token, keys, time.now)
  }
  for (let turn = 0; time.now < end; turn++) {
    // The hours of a day are looked at closely, and then a day passes.
    time.now += turn % 5 === 4 ? day : hour / 2
    await look(time, a, b)
    const keys = await keySetOf(replicas[turn % 2] ?? a)
    cached = [...cached, { at: time.now, keys }].filter(({ at }) => at > time.now - hour)
    alive = alive.filter(({ until }) => until > time.now)
    for (const { token: earlier } of alive) await check(earlier, keys)
    for (const next of issue) {
      const token = await next(replicas[(turn >> 1) % 2] ?? a)
      signers.add(kidOfToken(token))
      for (const known of cached) await check(token, known.keys)
      alive = [...alive, { token, until: (decodeJwt(token).exp ?? 0) * 1000 }]
    }
    for (const slot of ['es', 'rs', 'ed'])
      expect(keys.keys.filter(({ kid }) => kid?.startsWith(`${slot}-`)).length).toBeLessThanOrEqual(rotate.max_keys)
  }
  return signers
}

/** `SIGNET_ROTATION_DAYS=730` lets two years pass. */
export const days = Number(process.env['SIGNET_ROTATION_DAYS'] ?? 50)
export const timeout = 30_000 + days * 1000

const numbersOf = (kids: Iterable<string>): readonly number[] => [...kids].map((kid) => Number(kid.slice(3)))

/** Whether rotations happened as often as planned, and each key of the records is one that was planned. */
export const expectPlanned = async (rotating: Rotating, signers: ReadonlySet<string>, passed = days) => {
  // Each change is seen up to a day and a quarter late here.
  for (const slot of ['es', 'rs', 'ed'])
    expect([...signers].filter((kid) => kid.startsWith(slot)).length).toBeGreaterThanOrEqual(
      Math.floor(passed / 31.25) + 1,
    )
  const records = await rotating.records()
  expect(records.map(({ slot, delay }) => [slot, delay])).toEqual(['ed', 'es', 'rs'].map((slot) => [slot, undefined]))
  for (const { keys } of records) expect(keys.length).toBe(Math.max(...numbersOf(signers)) + 1)
  return records.flatMap(({ keys }) => keys)
}
