import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, type JSONWebKeySet } from 'jose'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { freePort } from '../../support/free-port.js'
import { prepareRestarts, type Json, type ReloadServer } from '../../support/server/reloading.js'
import { serviceClient } from '../../support/server/server.js'

const hour = 3_600_000
const day = 24 * hour
const start = Date.parse('2026-11-26T00:00:00Z')
const tokenSeconds = 600

const rotate = { every_days: 30, announce_days: 7, ahead: 1, max_keys: 4 }
const withSlots =
  (more: Json = {}) =>
  (written: Json): Json => ({
    ...written,
    keys: [
      { slot: 'es', alg: 'ES256', signer: 'local', rotate, ...more },
      { slot: 'rs', alg: 'RS256', signer: 'local', rotate, purposes: ['id_token'] },
    ],
    id_token_signing_alg: 'RS256',
    access_token_signing_alg: 'ES256',
  })

const prepare = async (configure = withSlots()) => {
  const time = { now: start }
  const deployment = await prepareRestarts({
    clock: () => time.now,
    // Time passes with the clock, so that the slots do not take its steps for jumps.
    monotonic: () => time.now - start,
    configure,
  })
  onTestFinished(() => deployment[Symbol.asyncDispose]())
  return { ...deployment, time }
}

const keySetOf = async ({ origin }: ReloadServer): Promise<JSONWebKeySet> =>
  (await (await fetch(`${origin}/jwks.json`)).json()) as JSONWebKeySet

const tokenOf = async ({ origin }: ReloadServer): Promise<string> => {
  const { client_id, client_secret } = serviceClient
  const reply = await fetch(`${origin}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  expect(reply.status).toBe(200)
  return ((await reply.json()) as { access_token: string }).access_token
}

const verify = (token: string, keys: JSONWebKeySet, now: number) =>
  jwtVerify(token, createLocalJWKSet(keys), { currentDate: new Date(now) })

/** Takes what is due at both replicas, until both know it. */
const look = async (...replicas: readonly ReloadServer[]): Promise<void> => {
  for (let round = 0; round < 3; round++) for (const replica of replicas) await replica.lookAtSlots()
}

describe('keys that rotate themselves', () => {
  it('exist from the first start on, and are kept over restarts', async () => {
    const { start: begin } = await prepare()
    let first: readonly string[] = []
    {
      await using server = await begin()
      await look(server)
      first = await server.kids()
      expect(first).toEqual(['es-2', 'es-1', 'rs-2', 'rs-1'])
      expect(decodeProtectedHeader(await tokenOf(server)).kid).toBe('es-1')
      expect((await readdir(join(server.directory, 'keys'))).toSorted()).toEqual(
        first.map((kid) => `signet-${kid}`).toSorted(),
      )
    }
    await using server = await begin()
    expect(await server.kids()).toEqual(first)
  })

  it('change for a year on two replicas, and no relying party meets a key that it cannot know', async () => {
    const { start: begin, edit, time } = await prepare()
    await using a = await begin()
    const port = await freePort()
    await edit((written) => ({ ...written, listen: { host: '127.0.0.1', port } }))
    await using b = await begin()
    await look(a, b)
    const replicas = [a, b]
    let cached: readonly { readonly at: number; readonly keys: JSONWebKeySet }[] = []
    let alive: readonly { readonly token: string; readonly until: number }[] = []
    const signers = new Set<string>()
    const step = hour / 2
    const end = start + 365 * day
    for (let turn = 0; time.now < end; turn++) {
      // Each change is looked at closely; in between, days pass.
      time.now += turn % 8 === 7 ? day : step
      await look(a, b)
      const one = replicas[turn % 2] as ReloadServer
      const keys = await keySetOf(one)
      cached = [...cached, { at: time.now, keys }].filter(({ at }) => at > time.now - hour)
      alive = alive.filter(({ until }) => until > time.now)
      const token = await tokenOf(replicas[(turn >> 1) % 2] as ReloadServer)
      signers.add(decodeProtectedHeader(token).kid ?? '')
      for (const known of cached) await verify(token, known.keys, time.now)
      alive = [...alive, { token, until: time.now + tokenSeconds * 1000 }]
      for (const { token: earlier } of alive) await verify(earlier, keys, time.now)
      expect(keys.keys.filter(({ kid }) => kid?.startsWith('es-')).length).toBeLessThanOrEqual(rotate.max_keys)
    }
    expect(signers.size).toBeGreaterThanOrEqual(12)
    // What the backend has is what the slots know.
    const files = await readdir(join(a.directory, 'keys'))
    const numbers = [...signers].map((kid) => Number(kid.slice(3)))
    expect(files.filter((name) => name.startsWith('signet-es-')).length).toBe(Math.max(...numbers) + 1)
  }, 120_000)
})
