import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest'
import { KeyRefused, Unavailable, type Signer, type SignerProvider } from '../../core/api/signer.js'
import { doubleOf, type DoubledToken } from '../support/signers/pkcs11-double/double.js'
import { describeWith } from '../support/services/describe-with.js'
import { makeToken, openProvider, type SoftToken } from '../support/signers/softhsm/token.js'
import {
  isRunning,
  never,
  newJournal,
  recovers,
  signsRightly,
  type Journal,
} from '../support/signers/softhsm/watched.js'

const message = Buffer.from('message')

let token: SoftToken
let double: DoubledToken
let provider: SignerProvider
let signer: Signer
let journal: Journal

const setUp = async (options = {}): Promise<void> => {
  token = await makeToken()
  double = await doubleOf(token)
  journal = newJournal()
  provider = await openProvider(double, options, journal)
  const ref = (await provider.create?.('key', 'ES256', never)) ?? ''
  signer = await provider.open(ref, 'ES256', never)
}
const tearDown = async (): Promise<void> => {
  loaded = false
  await provider[Symbol.asyncDispose]()
  await token[Symbol.asyncDispose]()
}

interface Outcome {
  made: number
  readonly errors: unknown[]
}

let loaded = false

/** Callers that ask again as soon as they were answered, until `stop` or the end of the test. */
const load = (): { readonly outcome: Outcome; readonly stop: () => Promise<unknown> } => {
  const outcome: Outcome = { made: 0, errors: [] }
  loaded = true
  const call = async (): Promise<void> => {
    while (loaded)
      try {
        await signer.sign(message, never)
        outcome.made++
      } catch (error) {
        outcome.errors.push(error)
        await new Promise(setImmediate)
      }
  }
  const ended = Promise.all(Array.from({ length: 32 }, call))
  const stop = () => {
    loaded = false
    return ended
  }
  return { outcome, stop }
}

describeWith(['softhsm2', 'gcc'], 'a PKCS#11 child that dies (F19)', () => {
  beforeEach(() => setUp())
  afterEach(tearDown)

  it.each(['SIGKILL', 'SIGSEGV'] as const)('%s under load: unavailable only, and back by itself', async (end) => {
    const { outcome, stop } = load()
    await expect.poll(() => outcome.made).toBeGreaterThan(100)
    process.kill(journal.pids[0] ?? 0, end)
    await expect.poll(() => outcome.errors.length).toBeGreaterThan(0)
    await expect.poll(() => journal.pids.length, { timeout: 10_000 }).toBe(2)
    const before = outcome.made
    await expect.poll(() => outcome.made).toBeGreaterThan(before + 100)
    await stop()
    expect(outcome.errors.filter((error) => !(error instanceof Unavailable && error.applied === 'no'))).toEqual([])
    expect(await signsRightly(signer)).toBe(true)
  })

  it.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)(
    'ignores %s, which its process group gets when the service is stopped',
    async (stop) => {
      process.kill(journal.pids[0] ?? 0, stop)
      for (let count = 0; count < 200; count++) expect(await signsRightly(signer)).toBe(true)
      expect(journal.pids).toHaveLength(1)
    },
  )

  it('a library that crashes in C_Sign', async () => {
    await double.command('C_Sign crash once')
    await expect(signer.sign(message, never)).rejects.toThrow('the PKCS#11 process ended (SIGSEGV)')
    await recovers(signer)
    expect(journal.pids).toHaveLength(2)
  })

  it('is not left behind by a parent that is killed, even while the library hangs', async () => {
    await double.command('C_Sign sleep 300 once')
    const file = fileURLToPath(new URL('../support/signers/softhsm/signing-process.ts', import.meta.url))
    const parent = fork(file, [JSON.stringify(double)], { execArgv: ['--import', 'tsx'] })
    onTestFinished(() => void parent.kill('SIGKILL'))
    const [pid] = (await once(parent, 'message')) as [number]
    onTestFinished(() => {
      if (isRunning(pid)) process.kill(pid, 'SIGKILL')
    })
    expect(isRunning(pid)).toBe(true)
    await expect.poll(() => double.calls('C_Sign'), { timeout: 20_000 }).toBeGreaterThan(1000)
    // One of them hangs, and answers to others lie unread: their sessions see the end of the parent as a failure.
    parent.kill('SIGSTOP')
    let calls = 0
    await expect.poll(async () => calls === (calls = await double.calls('C_Sign')), { timeout: 20_000 }).toBe(true)
    parent.kill('SIGKILL')
    await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false)
  })
})

describeWith(['softhsm2', 'gcc'], 'a PKCS#11 library that hangs (F19)', () => {
  beforeEach(() => setUp({ deadline_ms: 400, sessions: 2 }))
  afterEach(tearDown)

  it.each(['C_Sign', 'C_SignInit'])(
    'in %s: the child is killed at the deadline, and all is well again',
    async (call) => {
      await double.command(`${call} sleep 300 once`)
      const asked = Promise.allSettled(Array.from({ length: 20 }, () => signer.sign(message, never)))
      const failed = (await asked).flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
      expect(failed.length).toBeGreaterThan(0)
      for (const error of failed) expect(error).toBeInstanceOf(Unavailable)
      expect(journal.lines.join()).toContain('did not answer within the deadline, and the process was killed')
      await expect.poll(() => isRunning(journal.pids[0] ?? 0)).toBe(false)
      await recovers(signer)
    },
  )

  it('a caller whose time is over gets an error and does not wait for the deadline of the token', async () => {
    await double.command('C_Sign sleep 300')
    const reason = new Error('the request is over')
    const controller = new AbortController()
    const asked = signer.sign(message, controller.signal)
    await expect.poll(() => double.calls('C_Sign')).toBe(1)
    controller.abort(reason)
    await expect(asked).rejects.toBe(reason)
    expect(isRunning(journal.pids[0] ?? 0)).toBe(true)
    await double.heal()
    await recovers(signer)
  })

  it('what was aborted while it waited never reaches the token', async () => {
    const before = await double.calls('C_Sign')
    const controller = new AbortController()
    const asked = Promise.allSettled(Array.from({ length: 50 }, () => signer.sign(message, controller.signal)))
    controller.abort()
    await asked
    expect(await signsRightly(signer)).toBe(true)
    expect(await double.calls('C_Sign')).toBe(before + 1)
  })
})

describeWith(['softhsm2', 'gcc'], 'a token that loses what it had', () => {
  beforeEach(() => setUp({ sessions: 2 }))
  afterEach(tearDown)

  it('idle sessions dropped: logged in again before the next signature (F22)', async () => {
    const logins = await double.calls('C_Login')
    await double.command('C_SignInit drop once')
    expect(await signsRightly(signer)).toBe(true)
    expect(await double.calls('C_Login')).toBe(logins + 1)
    expect(await Promise.all(Array.from({ length: 100 }, () => signsRightly(signer)))).not.toContain(false)
    expect(journal.pids).toHaveLength(1)
  })

  it('the token taken away: unavailable only, back by itself, no loop at the PIN (F18, F20)', async () => {
    const { outcome, stop } = load()
    await expect.poll(() => outcome.made).toBeGreaterThan(100)
    await token.remove()
    await expect.poll(() => outcome.errors.length, { timeout: 20_000 }).toBeGreaterThan(100)
    const logins = await double.calls('C_Login')
    const missed = () => journal.lines.filter((line) => line.includes('is being restarted')).length
    await expect.poll(missed, { timeout: 20_000 }).toBeGreaterThan(3)
    await token.putBack()
    const before = outcome.made
    await expect.poll(() => outcome.made, { timeout: 20_000 }).toBeGreaterThan(before + 100)
    await stop()
    expect(outcome.errors.filter((error) => !(error instanceof Unavailable))).toEqual([])
    expect(await double.calls('C_Login')).toBeLessThanOrEqual(logins + 2)
    expect(await signsRightly(signer)).toBe(true)
  })

  it('a key that was destroyed is refused, and the others sign on', async () => {
    const other = await provider.open((await provider.create?.('other', 'ES256', never)) ?? '', 'ES256', never)
    for (const type of ['privkey', 'pubkey']) await token.tool('--delete-object', '--type', type, '--label', 'key')
    await expect
      .poll(() => signer.sign(message, never).then(String, (error: unknown) => error), { timeout: 20_000 })
      .toBeInstanceOf(KeyRefused)
    await recovers(other)
  })
})

describeWith(['softhsm2', 'gcc'], 'another key behind the same name (F17)', () => {
  beforeEach(() => setUp({ sessions: 2 }))
  afterEach(tearDown)

  it.each(['a new child', 'a new session'])('is never used by %s', async (by) => {
    await token.makeKey('EC:prime256v1', 'swapped', '77')
    const named = await provider.open('pkcs11:object=swapped', 'ES256', never)
    for (const type of ['privkey', 'pubkey']) await token.tool('--delete-object', '--type', type, '--id', '77')
    await token.makeKey('EC:prime256v1', 'swapped', '77')
    if (by === 'a new child') process.kill(journal.pids[0] ?? 0, 'SIGKILL')
    else await double.command('C_SignInit return 0xb3 once')
    await expect
      .poll(() => named.sign(message, never).catch(String), { timeout: 20_000 })
      .toContain('KeyRefused: another key has replaced it')
    expect(await signsRightly(signer)).toBe(true)
  })

  it('and a second object with its label is refused as well', async () => {
    await token.makeKey('EC:prime256v1', 'doubled', '78')
    const named = await provider.open('pkcs11:object=doubled', 'ES256', never)
    await token.makeKey('EC:prime256v1', 'doubled', '79')
    process.kill(journal.pids[0] ?? 0, 'SIGKILL')
    await expect
      .poll(() => named.sign(message, never).catch(String), { timeout: 20_000 })
      .toContain('KeyRefused: 2 private keys match')
  })

  it.each(['C_SignInit other unused', 'C_Sign flip'])('the double misbehaves as configured: %s', async (command) => {
    await provider.create?.('unused', 'ES256', never)
    await double.command(`${command} once`)
    expect(await signsRightly(signer)).toBe(false)
    expect(await signsRightly(signer)).toBe(true)
  })
})

describeWith(['softhsm2', 'gcc'], 'the start of a PKCS#11 signer', () => {
  beforeEach(() => setUp())
  afterEach(tearDown)

  it('one that hangs ends with the caller’s time, not with the token’s', async () => {
    await double.command('C_Initialize sleep 300')
    const slow = await openProvider(double)
    const reason = new Error('no longer')
    const controller = new AbortController()
    const before = await double.calls('C_Initialize')
    const asked = slow.ping(controller.signal)
    await expect.poll(() => double.calls('C_Initialize'), { timeout: 20_000 }).toBe(before + 1)
    controller.abort(reason)
    await expect(asked).rejects.toBe(reason)
    await slow[Symbol.asyncDispose]()
  })
})
