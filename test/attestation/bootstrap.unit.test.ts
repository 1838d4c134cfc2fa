import { hash } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Unavailable, type JsonObject } from '../../core/api/index.js'
import { principalDigest, type Principal, type SecondFactorVerifier } from '../../core/api/attestation.js'
import { createAttemptLimiter } from '../../core/storage/attempts.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { RecordStore, StorageBackend } from '../../core/storage/ports.js'
import plugin from '../../plugins/attestation/bootstrap/index.js'
import { breakable, createFactor, enrolmentOf } from '../support/clients/second-factor.js'

const kind = 'bootstrap_secret'
const service: Principal = { subject: 'payments', principalId: 'worker-1', principalType: 'service' }
const refusal = { ok: false, reason: 'the bootstrap secret is wrong, expired or was used' }

let folder: string
let backend: StorageBackend
let now: number
let recordsAreDown: boolean

beforeEach(async () => {
  recordsAreDown = false
  now = Date.UTC(2026, 10, 20)
  folder = await mkdtemp(join(tmpdir(), 'signet-bootstrap-'))
  backend = await openEmbedded({ path: folder, clock: () => now })
})

afterEach(async () => {
  await backend[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

const records = (): RecordStore<JsonObject> => backend.records('second_factors')

const open = (options?: JsonObject): Promise<SecondFactorVerifier> =>
  createFactor(plugin, options, {
    clock: () => now,
    attempts: createAttemptLimiter(backend.counters('counters')),
    factorRecords: breakable(records(), () => recordsAreDown),
  })

const issueTo = async (factor: SecondFactorVerifier, principal = service): Promise<string> =>
  (await factor.issue?.(principal))?.lines['secret'] ?? ''

const verify = (factor: SecondFactorVerifier, value: string, principal = service) =>
  factor.verify(enrolmentOf(principal), { kind, value })

const enrol = async (factor: SecondFactorVerifier, value: string) => {
  const answer = await verify(factor, value)
  return answer.ok ? answer.consume?.() : undefined
}

describe('a bootstrap secret', () => {
  it('has 256 bits and an expiry time', async () => {
    const [one, other] = [await (await open()).issue?.(service), await (await open()).issue?.(service)]
    expect(one?.lines).toEqual({ secret: expect.stringMatching(/^[\w-]{43}$/), expires: '2026-11-21T00:00:00Z' })
    expect(other?.lines['secret']).not.toBe(one?.lines['secret'])
    expect(one?.uri).toBeUndefined()
  })

  it('is accepted once', async () => {
    const factor = await open()
    const secret = await issueTo(factor)
    expect(await enrol(factor, secret)).toBe(true)
    expect(await verify(factor, secret)).toEqual(refusal)
  })

  it('admits one of two callers that were both accepted before either consumed it', async () => {
    const factor = await open()
    const secret = await issueTo(factor)
    const accepted = await Promise.all([verify(factor, secret), verify(factor, secret)])
    const used = await Promise.all(accepted.map(async (answer) => answer.ok && answer.consume?.()))
    expect(used.toSorted()).toEqual([false, true])
  })

  it('is valid until it is consumed, and stays consumed after a restart', async () => {
    const secret = await issueTo(await open())
    expect(await verify(await open(), secret)).toMatchObject({ ok: true })
    await backend[Symbol.asyncDispose]()
    backend = await openEmbedded({ path: folder, clock: () => now })
    expect(await enrol(await open(), secret)).toBe(true)
    await backend[Symbol.asyncDispose]()
    backend = await openEmbedded({ path: folder, clock: () => now })
    expect(await verify(await open(), secret)).toEqual(refusal)
  })

  it('expires, also between its check and its use', async () => {
    const factor = await open({ expires_secs: 60 })
    const secret = await issueTo(factor)
    now += 59_999
    const answer = await verify(factor, secret)
    expect(answer.ok).toBe(true)
    now += 1
    expect(answer.ok && (await answer.consume?.())).toBe(false)
    expect(await verify(factor, secret)).toEqual(refusal)
  })

  it('belongs to a single principal', async () => {
    const factor = await open()
    const secret = await issueTo(factor)
    for (const other of [{ subject: 'ledger' }, { principalId: 'worker-2' }, { principalType: 'device' as const }])
      expect(await verify(factor, secret, { ...service, ...other })).toEqual(refusal)
    expect(await enrol(factor, secret)).toBe(true)
  })

  it('ends when a new one is issued, which using the old one does not affect', async () => {
    const factor = await open()
    const first = await issueTo(factor)
    const accepted = await verify(factor, first)
    const second = await issueTo(factor)
    expect(accepted.ok && (await accepted.consume?.())).toBe(false)
    expect(await verify(factor, first)).toEqual(refusal)
    expect(await enrol(factor, second)).toBe(true)
  })

  it('ends when it is withdrawn, without affecting other principals', async () => {
    const factor = await open()
    const prefix = `${kind}:${principalDigest(service)}:`
    const other = { ...service, principalId: 'worker-2' }
    const kept = await issueTo(factor, other)
    await Promise.all(Array.from({ length: 250 }, (_, index) => records().put(`${prefix}${String(index)}`, {})))
    await records().put('totp:other', {})
    expect(await factor.withdraw?.(service)).toBe(true)
    expect(await factor.withdraw?.(service)).toBe(false)
    expect((await records().list(undefined, 500)).map(({ id }) => id).toSorted()).toEqual([
      `${kind}:${principalDigest(other)}:${hash('sha256', kept, 'base64url')}`,
      'totp:other',
    ])
  })

  it.each(['', 'x', 'A'.repeat(43), 'x'.repeat(16_384), '\0', '../', '%'])('is not %j', async (value) => {
    const factor = await open()
    await issueTo(factor)
    expect(await verify(factor, value)).toEqual(refusal)
  })

  it('is not recoverable from the store', async () => {
    const factor = await open()
    const secret = await issueTo(factor)
    const [stored] = await records().list(undefined, 1)
    for (const part of (stored?.id ?? '').split(':')) expect(await verify(factor, part)).toEqual(refusal)
    const files = await readdir(folder, { recursive: true, withFileTypes: true })
    const content = await Promise.all(
      files.filter((one) => one.isFile()).map((one) => readFile(join(one.parentPath, one.name))),
    )
    const all = Buffer.concat(content)
    expect(all.includes(hash('sha256', secret, 'base64url'))).toBe(true)
    for (const clear of [secret, Buffer.from(secret, 'base64url')]) expect(all.includes(clear)).toBe(false)
  })
})

describe('guesses', () => {
  it('wait ever longer, also without a secret, until a success clears them', async () => {
    const factor = await open()
    const secret = await issueTo(factor)
    const nobody = { ...service, subject: 'nobody' }
    for (let index = 0; index < 14; index += 1)
      expect(await verify(factor, 'wrong')).toEqual(await verify(factor, 'wrong', nobody))
    expect(await verify(factor, secret)).toEqual({ ok: false, reason: 'too many wrong bootstrap secrets' })
    now += 60_000
    expect(await verify(factor, secret)).toMatchObject({ ok: true })
    for (let index = 0; index < 10; index += 1) expect(await verify(factor, 'wrong')).toEqual(refusal)
  })

  it('do not include repeats during an outage, or correct secrets that were not used', async () => {
    const factor = await open()
    const secret = await issueTo(factor)
    recordsAreDown = true
    for (let index = 0; index < 30; index += 1) await expect(verify(factor, secret)).rejects.toBeInstanceOf(Unavailable)
    recordsAreDown = false
    for (let index = 0; index < 30; index += 1) expect(await verify(factor, secret)).toMatchObject({ ok: true })
    expect(await enrol(factor, secret)).toBe(true)
  })

  it('are counted when they arrive concurrently', async () => {
    const factor = await open()
    await issueTo(factor)
    const answers = await Promise.all(Array.from({ length: 40 }, () => verify(factor, 'wrong')))
    expect(answers.filter((answer) => !answer.ok && answer.reason === refusal.reason)).toHaveLength(11)
  })
})

describe('options', () => {
  it.each([
    [{ expires_secs: 0 }, '>=1'],
    [{ expires_secs: '1 day' }, 'expected number'],
    [{ expires: 60 }, 'Unrecognized key: "expires"'],
  ])('refuses %j', async (options, message) => {
    await expect(open(options)).rejects.toThrow(message)
  })
})
