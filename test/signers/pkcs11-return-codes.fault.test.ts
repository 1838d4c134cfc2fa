import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { KeyRefused, Unavailable, type Signer, type SignerProvider } from '../../core/api/signer.js'
import { describeWith } from '../support/services/describe-with.js'
import { doubleOf, type DoubledToken } from '../support/signers/pkcs11-double/double.js'
import { makeToken, openProvider, type SoftToken } from '../support/signers/softhsm/token.js'
import { never, newJournal, recovers, signsRightly, type Journal } from '../support/signers/softhsm/watched.js'

const retried = {
  KEY_HANDLE_INVALID: 0x60,
  OBJECT_HANDLE_INVALID: 0x82,
  OPERATION_ACTIVE: 0x90,
  SESSION_CLOSED: 0xb0,
  SESSION_COUNT: 0xb1,
  SESSION_HANDLE_INVALID: 0xb3,
  USER_NOT_LOGGED_IN: 0x101,
}
const resetting = {
  GENERAL_ERROR: 0x05,
  DEVICE_ERROR: 0x30,
  DEVICE_REMOVED: 0x32,
  TOKEN_NOT_PRESENT: 0xe0,
  CRYPTOKI_NOT_INITIALIZED: 0x190,
  'of a vendor': 0x80000123,
}
const permanent = { KEY_FUNCTION_NOT_PERMITTED: 0x68, MECHANISM_INVALID: 0x70 }
const ofPin = { PIN_INCORRECT: 0xa0, PIN_EXPIRED: 0xa3, PIN_LOCKED: 0xa4 }

const entries = (codes: Record<string, number>) => Object.entries(codes).map(([name, code]) => [name, code] as const)

describeWith(['softhsm2', 'gcc'], 'every return code of the table, from the library', () => {
  let token: SoftToken
  let double: DoubledToken
  let ref: string
  let provider: SignerProvider
  let signer: Signer
  let journal: Journal

  beforeAll(async () => {
    token = await makeToken()
    double = await doubleOf(token)
    const maker = await openProvider(token)
    ref = (await maker.create?.('key', 'ES256', never)) ?? ''
    await maker[Symbol.asyncDispose]()
  })
  beforeEach(async () => {
    journal = newJournal()
    provider = await openProvider(double, { sessions: 2 }, journal)
    signer = await provider.open(ref, 'ES256', never)
  })
  afterEach(async () => {
    await double.heal()
    await recovers(signer)
    await provider[Symbol.asyncDispose]()
  })
  afterAll(() => token[Symbol.asyncDispose]())

  describe.each(['C_SignInit', 'C_Sign'])('%s', (call) => {
    it.each(entries(retried))('%s once: the signature comes, from a new session', async (_name, code) => {
      await double.command(`${call} return ${code} once`)
      expect(await signsRightly(signer)).toBe(true)
      expect(journal.pids).toHaveLength(1)
    })

    it.each(entries(retried))('%s that stays: two calls, unavailable, and a new start', async (_name, code) => {
      const before = await double.calls(call)
      await double.command(`${call} return ${code}`)
      await expect(signer.sign(Buffer.from('a'), never)).rejects.toBeInstanceOf(Unavailable)
      expect(await double.calls(call)).toBe(before + 2)
      await double.heal()
      await recovers(signer)
      expect(journal.pids).toHaveLength(2)
    })

    it.each(entries(resetting))('%s: one call, unavailable, and a new start', async (_name, code) => {
      const before = await double.calls(call)
      await double.command(`${call} return ${code} once`)
      await expect(signer.sign(Buffer.from('a'), never)).rejects.toMatchObject({ name: 'Unavailable', applied: 'no' })
      expect(await double.calls(call)).toBe(before + 1)
      await recovers(signer)
      expect(journal.pids).toHaveLength(2)
      expect(journal.lines.filter((line) => line.includes(`the token answered ${call}: `))).toHaveLength(1)
    })

    it.each(entries(permanent))('%s: refused, and nothing is tried again', async (_name, code) => {
      const before = await double.calls(call)
      await double.command(`${call} return ${code}`)
      await expect(signer.sign(Buffer.from('a'), never)).rejects.toBeInstanceOf(KeyRefused)
      expect(await double.calls(call)).toBe(before + 1)
      expect(journal.pids).toHaveLength(1)
    })
  })

  it.each(entries(retried))('C_FindObjects %s once: the key is found, in a new session', async (_name, code) => {
    await double.command(`C_FindObjects return ${code} once`)
    expect((await provider.open(ref, 'ES256', never)).publicJwk).toEqual(signer.publicJwk)
    expect(journal.pids).toHaveLength(1)
  })

  it('C_FindObjects that fails for good: unavailable by its name, and a new start', async () => {
    await double.command('C_FindObjects return 0x30 once')
    await expect(provider.open(ref, 'ES256', never)).rejects.toThrow('C_FindObjects: CKR_DEVICE_ERROR')
    await recovers(signer)
    expect(journal.pids).toHaveLength(2)
  })

  it('a key is open when all sessions have looked for it: none reads the objects while the next key is made', async () => {
    const another = (await provider.create?.('another', 'ES256', never)) ?? ''
    const before = await double.calls('C_FindObjects')
    await provider.open(another, 'ES256', never)
    // Each time for the private half and for the public one: by one session that is asked, and by both that are notified.
    expect(await double.calls('C_FindObjects')).toBe(before + 6)
    await provider.create?.('a third', 'ES256', never)
    expect(await double.calls('C_FindObjects')).toBe(before + 7)
  })

  it('a session that cannot be opened is unavailable', async () => {
    await double.command('C_OpenSession return 0xb1')
    process.kill(journal.pids.at(-1) ?? 0, 'SIGKILL')
    await expect.poll(() => journal.lines.at(-1)).toContain('C_OpenSession: CKR_SESSION_COUNT')
    await expect(signer.sign(Buffer.from('a'), never)).rejects.toBeInstanceOf(Unavailable)
  })
})

describeWith(['softhsm2', 'gcc'], 'the PIN is tried once', () => {
  let token: SoftToken
  let double: DoubledToken
  let ref: string
  const providers: SignerProvider[] = []
  const open = async (pin: string, journal = newJournal()): Promise<SignerProvider> => {
    const provider = await openProvider({ ...double, pin }, { sessions: 4 }, journal)
    providers.push(provider)
    return provider
  }
  beforeAll(async () => {
    token = await makeToken()
    const maker = await openProvider(token)
    ref = (await maker.create?.('key', 'ES256', never)) ?? ''
    await maker[Symbol.asyncDispose]()
  })
  afterEach(async () => {
    await double.heal()
    for (const provider of providers.splice(0)) await provider[Symbol.asyncDispose]()
  })
  afterAll(() => token[Symbol.asyncDispose]())

  it('a right one serves all sessions with one login', async () => {
    double = await doubleOf(token)
    const provider = await open(token.pin)
    const signer = await provider.open(ref, 'ES256', never)
    await Promise.all(Array.from({ length: 500 }, () => signer.sign(Buffer.from('a'), never)))
    expect(await double.calls('C_Login')).toBe(1)
  })

  it('a wrong one is not tried again, whatever is asked of the signer', async () => {
    double = await doubleOf(token)
    const provider = await open('not-the-pin')
    const asked = [() => provider.ping(never), () => provider.open(ref, 'ES256', never)]
    await Promise.all(asked.map((ask) => expect(ask()).rejects.toThrow('C_Login: CKR_PIN_INCORRECT')))
    for (let count = 0; count < 10; count++)
      for (const ask of asked) await expect(ask()).rejects.toBeInstanceOf(KeyRefused)
    expect(await double.calls('C_Login')).toBe(1)
    expect(await double.calls('C_Initialize')).toBe(1)
  })

  it.each(entries(ofPin))('%s is final', async (name, code) => {
    double = await doubleOf(token)
    await double.command(`C_Login return ${code}`)
    const provider = await open(token.pin)
    await expect(provider.open(ref, 'ES256', never)).rejects.toThrow(`CKR_${name}`)
    await double.heal()
    await expect(provider.open(ref, 'ES256', never)).rejects.toBeInstanceOf(KeyRefused)
    expect(await double.calls('C_Login')).toBe(1)
  })

  it('one that was changed meanwhile is tried once, over several ends of the child', async () => {
    double = await doubleOf(token)
    const journal = newJournal()
    const provider = await open(token.pin, journal)
    const signer = await provider.open(ref, 'ES256', never)
    for (let end = 0; end < 4; end++) {
      process.kill(journal.pids.at(-1) ?? 0, 'SIGKILL')
      await expect.poll(() => journal.pids.length, { timeout: 30_000 }).toBe(end + 2)
    }
    await recovers(signer)
    const before = await double.calls('C_Login')
    expect(before).toBe(5)
    await double.command('C_Login return 0xa0')
    process.kill(journal.pids.at(-1) ?? 0, 'SIGKILL')
    await expect
      .poll(() => signer.sign(Buffer.from('a'), never).catch(String), { timeout: 30_000 })
      .toContain('CKR_PIN')
    await expect(signer.sign(Buffer.from('a'), never)).rejects.toBeInstanceOf(KeyRefused)
    expect(await double.calls('C_Login')).toBe(before + 1)
    expect(journal.lines.at(-1)).toContain('It is not tried again until the configuration changes.')
  })

  it('a login that crashed is repeated only if the token counted no failure', async () => {
    double = await doubleOf(token)
    await double.command('C_Login crash once')
    const provider = await open(token.pin)
    await expect(provider.ping(never)).rejects.toBeInstanceOf(Unavailable)
    await expect.poll(() => provider.ping(never).then(() => 'up', String), { timeout: 30_000 }).toBe('up')

    await token.tool('--list-objects', '--pin', 'wrong').catch(() => undefined)
    double = await doubleOf(token)
    await double.command('C_Login crash once')
    const other = await open(token.pin)
    await expect(other.ping(never)).rejects.toBeInstanceOf(Unavailable)
    await expect.poll(() => other.ping(never).catch(String), { timeout: 30_000 }).toContain('a wrong PIN')
    expect(await double.calls('C_Login')).toBe(1)
  })
})
