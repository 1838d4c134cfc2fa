import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Unavailable, type JsonObject } from '../../core/api/index.js'
import { principalDigest, type Principal, type SecondFactorVerifier } from '../../core/api/attestation.js'
import { createAttemptLimiter } from '../../core/storage/attempts.js'
import { collect } from '../../stores/embedded/collector.js'
import { acquireEnvironment } from '../../stores/embedded/environment.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { RecordStore, StorageBackend } from '../../core/storage/ports.js'
import plugin from '../../plugins/attestation/totp/index.js'
import {
  breakable,
  breakableClaims,
  createFactor,
  enrol,
  fromBase32,
  issueTo,
  showPassword,
  verify,
} from '../support/clients/second-factor.js'

const sealingKey = randomBytes(32).toString('base64url')
const start = Date.UTC(2026, 10, 20)
const device: Principal = { subject: 'alice', principalId: 'phone-1', principalType: 'device' }

let folder: string
let backend: StorageBackend
let now: number
let recordsAreDown: boolean
let claimsAreDown: boolean

beforeEach(async () => {
  now = start
  recordsAreDown = claimsAreDown = false
  folder = await mkdtemp(join(tmpdir(), 'signet-totp-'))
  backend = await openEmbedded({ path: folder, clock: () => now })
})

afterEach(async () => {
  await backend[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

const records = (): RecordStore<JsonObject> => backend.records('second_factors')

const open = (options: JsonObject = {}): Promise<SecondFactorVerifier> =>
  createFactor(
    plugin,
    { sealing_key: sealingKey, ...options },
    {
      clock: () => now,
      issuer: 'https://id.bank.example:8443/op',
      clockToleranceSeconds: 10,
      attempts: createAttemptLimiter(backend.counters('counters')),
      factorRecords: breakable(records(), () => recordsAreDown),
      factorClaims: breakableClaims(backend.replayGuard('second_factor_claims'), () => claimsAreDown),
    },
  )

const wrongOf = (right: string): string => String((Number(right) + 1) % 1_000_000).padStart(6, '0')

describe('one-time passwords', () => {
  it('is accepted once, and so is the next one', async () => {
    const factor = await open()
    const secret = await issueTo(factor, device)
    const first = showPassword(secret, now)
    expect(await verify(factor, device, first)).toMatchObject({ ok: true, amr: ['otp'] })
    expect(await enrol(factor, device, first)).toBe(true)
    expect(await enrol(factor, device, first)).toBe(false)
    now += 30_000
    expect(await enrol(factor, device, first)).toBe(false)
    expect(await enrol(factor, device, showPassword(secret, now))).toBe(true)
  })

  it('is valid until it is consumed', async () => {
    const factor = await open()
    const password = showPassword(await issueTo(factor, device), now)
    await verify(factor, device, password)
    await verify(factor, device, password)
    expect(await enrol(factor, device, password)).toBe(true)
  })

  it('stays used after a restart', async () => {
    const password = showPassword(await issueTo(await open(), device), now)
    expect(await enrol(await open(), device, password)).toBe(true)
    await backend[Symbol.asyncDispose]()
    backend = await openEmbedded({ path: folder, clock: () => now })
    expect(await enrol(await open(), device, password)).toBe(false)
    now += 30_000
    expect(await enrol(await open(), device, password)).toBe(false)
  })

  it.each([
    [0, [undefined, true, undefined]],
    [1, [true, true, true]],
  ])('with a window of %d, the step before, this one and the next are %j', async (window, expected) => {
    const factor = await open({ window })
    const secret = await issueTo(factor, device)
    const used = []
    for (const away of [-30_000, 0, 30_000]) used.push(await enrol(factor, device, showPassword(secret, now + away)))
    expect(used).toEqual(expected)
  })

  it('F23 stays used when the clock jumps ahead, everything is collected, and it jumps back', async () => {
    const factor = await open()
    const password = showPassword(await issueTo(factor, device), now)
    expect(await enrol(factor, device, password)).toBe(true)
    now += 3_600_000
    const environment = await acquireEnvironment(folder, 1024 ** 3)
    while (await collect(environment, now));
    await environment.release()
    now = start
    await expect(enrol(factor, device, password)).rejects.toBeInstanceOf(Unavailable)
  })

  it('accepts nothing beyond the window, to the second', async () => {
    const factor = await open()
    const secret = await issueTo(factor, device)
    const old = showPassword(secret, now)
    now += 60_000
    expect(await verify(factor, device, old)).toMatchObject({ ok: false })
    now -= 1
    expect(await enrol(factor, device, old)).toBe(true)
  })

  it.each([
    ['SHA1', 6],
    ['SHA256', 8],
    ['SHA512', 6],
  ] as const)('supports %s with %d digits, also after the options have changed', async (algorithm, digits) => {
    const secret = await issueTo(await open({ algorithm, digits }), device)
    expect(secret).toHaveLength(Math.ceil(({ SHA1: 20, SHA256: 32, SHA512: 64 }[algorithm] * 8) / 5))
    const other = await open({ algorithm: algorithm === 'SHA1' ? 'SHA512' : 'SHA1', digits: digits === 6 ? 8 : 6 })
    expect(await enrol(other, device, showPassword(secret, now, { algorithm, digits }))).toBe(true)
  })

  it('belongs to a single principal', async () => {
    const factor = await open()
    const password = showPassword(await issueTo(factor, device), now)
    for (const other of [{ subject: 'bob' }, { principalId: 'phone-2' }, { principalType: 'service' as const }])
      expect(await verify(factor, { ...device, ...other }, password)).toMatchObject({ ok: false })
    // A sealed secret that is copied to another principal does not open.
    const bob = { ...device, subject: 'bob' }
    const stored = await records().find(`totp:${principalDigest(device)}`)
    await records().put(`totp:${principalDigest(bob)}`, stored ?? {})
    await expect(verify(factor, bob, password)).rejects.toBeInstanceOf(Unavailable)
  })

  it.each([
    '',
    '12345',
    '1234567',
    ' 123456',
    '１２３４５６',
    '12345a',
    '1e5',
    '-12345',
    'x'.repeat(16_384),
    '12345\0',
  ])('refuses malformed input: %j', async (value) => {
    const factor = await open()
    await issueTo(factor, device)
    expect(await verify(factor, device, value)).toEqual({ ok: false, reason: 'wrong one-time password' })
  })

  it('refuses a withdrawn or replaced one', async () => {
    const factor = await open()
    const first = await issueTo(factor, device)
    const second = await issueTo(factor, device)
    expect(await verify(factor, device, showPassword(first, now))).toMatchObject({ ok: false })
    expect(await factor.withdraw?.(device)).toBe(true)
    expect(await factor.withdraw?.(device)).toBe(false)
    expect(await verify(factor, device, showPassword(second, now))).toMatchObject({ ok: false })
  })

  it('is unavailable, not wrong, when the secret was sealed under another key', async () => {
    const password = showPassword(await issueTo(await open(), device), now)
    const factor = await open({ sealing_key: randomBytes(32).toString('base64url') })
    await expect(verify(factor, device, password)).rejects.toMatchObject({
      name: 'Unavailable',
      component: 'attestation.totp',
      message: 'a secret does not open with this sealing_key',
    })
  })
})

describe('guesses', () => {
  const limited = { ok: false, reason: 'too many wrong one-time passwords' }

  it('wait ever longer, and the right password waits too', async () => {
    const factor = await open()
    const secret = await issueTo(factor, device)
    const guess = () => verify(factor, device, wrongOf(showPassword(secret, now)))
    for (let index = 0; index < 6; index += 1)
      expect(await guess()).toMatchObject({ reason: 'wrong one-time password' })
    expect(await verify(factor, device, showPassword(secret, now))).toEqual(limited)
    now += 1000
    expect(await guess()).toMatchObject({ reason: 'wrong one-time password' })
    now += 1999
    expect(await verify(factor, device, showPassword(secret, now))).toEqual(limited)
    now += 1
    expect(await enrol(factor, device, showPassword(secret, now))).toBe(true)
    // A success forgets them.
    for (let index = 0; index < 5; index += 1)
      expect(await guess()).toMatchObject({ reason: 'wrong one-time password' })
  })

  it('are counted when they arrive concurrently', async () => {
    const factor = await open()
    const wrong = wrongOf(showPassword(await issueTo(factor, device), now))
    const answers = await Promise.all(Array.from({ length: 40 }, () => verify(factor, device, wrong)))
    expect(answers.filter((answer) => !answer.ok && answer.reason === 'wrong one-time password')).toHaveLength(6)
  })

  it('are not reset by replaying a password', async () => {
    const factor = await open()
    const secret = await issueTo(factor, device)
    const seen = showPassword(secret, now)
    expect(await enrol(factor, device, seen)).toBe(true)
    for (let index = 0; index < 6; index += 1) expect(await enrol(factor, device, seen)).toBe(false)
    expect(await verify(factor, device, seen)).toEqual(limited)
  })

  it('are not reset by alternating with a password that was used, or an older one', async () => {
    const factor = await open()
    const secret = await issueTo(factor, device)
    const [older, used] = [showPassword(secret, now - 30_000), showPassword(secret, now)]
    expect(await enrol(factor, device, used)).toBe(true)
    for (const seen of [used, older, used])
      for (const value of [seen, wrongOf(used)]) await verify(factor, device, value)
    expect(await verify(factor, device, wrongOf(used))).toEqual(limited)
  })

  it('do not include repeats during an outage, or right passwords that cannot be used', async () => {
    const factor = await open()
    const secret = await issueTo(factor, device)
    const right = () => verify(factor, device, showPassword(secret, now))
    recordsAreDown = true
    for (let index = 0; index < 20; index += 1) await expect(right()).rejects.toBeInstanceOf(Unavailable)
    recordsAreDown = false
    for (let index = 0; index < 20; index += 1) expect(await right()).toMatchObject({ ok: true })
    const accepted = await right()
    claimsAreDown = true
    await expect(accepted.ok && accepted.consume?.()).rejects.toBeInstanceOf(Unavailable)
    claimsAreDown = false
    expect(await enrol(factor, device, showPassword(secret, now))).toBe(true)
  })

  it('are refused and slowed down alike for a principal that does not exist', async () => {
    const factor = await open()
    const wrong = wrongOf(showPassword(await issueTo(factor, device), now))
    const nobody = { ...device, subject: 'nobody' }
    for (let index = 0; index < 12; index += 1)
      expect(await verify(factor, nobody, wrong)).toEqual(await verify(factor, device, wrong))
  })
})

describe('issue', () => {
  it('gives an otpauth URI as authenticator apps read it', async () => {
    const factor = await open({ algorithm: 'SHA256', digits: 8 })
    const issued = await factor.issue?.({ ...device, subject: 'a:b c/ü' })
    const uri = new URL(issued?.uri ?? '')
    expect(issued?.lines).toMatchObject({ algorithm: 'SHA256', digits: '8', period: '30 s' })
    expect(`${uri.protocol}//${uri.host}${decodeURIComponent(uri.pathname)}`).toBe(
      'otpauth://totp/id.bank.example:a.b c/ü phone-1',
    )
    expect(Object.fromEntries(uri.searchParams)).toEqual({
      secret: issued?.lines['secret'],
      issuer: 'id.bank.example',
      algorithm: 'SHA256',
      digits: '8',
      period: '30',
    })
  })

  it('unlocks a principal that had guessed too often', async () => {
    const factor = await open()
    for (let index = 0; index < 8; index += 1) await verify(factor, device, '000000')
    expect(await enrol(factor, device, showPassword(await issueTo(factor, device), now))).toBe(true)
  })

  it('leaves no secret in the store', async () => {
    const secret = await issueTo(await open(), device)
    const bytes = Buffer.from(fromBase32(secret))
    const files = await readdir(folder, { recursive: true, withFileTypes: true })
    const paths = files.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
    const all = Buffer.concat(await Promise.all(paths.map((path) => readFile(path))))
    expect(all.includes(`totp:${principalDigest(device)}`)).toBe(true)
    const spellings = [secret, bytes, bytes.toString('base64url'), bytes.toString('hex')]
    expect(spellings.filter((clear) => all.includes(clear))).toEqual([])
  })
})
