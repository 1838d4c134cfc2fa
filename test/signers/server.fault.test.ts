import { describe, expect, it } from 'vitest'
import { unfinished } from '../support/load/ledger/audit-books.js'
import { chaosKey, inParallel, localKey, startUntilTestEnds } from '../support/signers/signer-driver.js'

// Signatures that are asked of a double that flips a bit in one of 100: SIGNET_FLIPS.
const flips = Number(process.env['SIGNET_FLIPS'] ?? 400)

describe('F16 over the running server', () => {
  // Each flipped bit puts the key out of service for about a second.
  const timeout = 60_000 + flips * 30
  it('tokens through a double that flips one bit in 100: none bad leaves, the books balance', { timeout }, async () => {
    const { chaos, machine, redeem, host, ledger, contradictions } = await startUntilTestEnds({
      keys: [chaosKey('hsm'), localKey('spare')],
    })
    chaos.tell({ fault: 'flip', everyNth: 100 })
    const codes = await Promise.all(Array.from({ length: 100 }, () => host.mint.code()))
    let machines = 0
    const untilAsked = async (): Promise<void> => {
      // The spare key signs while that of the double is out of service.
      for (; chaos.calls < flips; machines++) await machine()
    }
    await Promise.all([
      ...Array.from({ length: 24 }, untilAsked),
      inParallel(codes.length, 4, (n) => redeem((codes[n] as { code: string }).code)),
    ])
    expect(await contradictions()).toEqual([])
    expect(unfinished(ledger)).toEqual([])
    expect(ledger.count(200)).toBe(machines + codes.length)
    expect(chaos.struck).toBeGreaterThanOrEqual(Math.floor(flips / 100))
    const audit = await host.server.audit()
    expect(audit.filter(({ event }) => event === 'signer.quarantined')).not.toHaveLength(0)
    expect(audit.filter(({ event }) => event === 'signer.failover')).not.toHaveLength(0)
  })
})

describe('F13–F15 over the running server', () => {
  it.each(['throttle', 'crash', 'hang', 'refuse', 'der'] as const)(
    '%s: 503 with Retry-After and nothing burnt; afterwards every code works, without a restart',
    async (fault) => {
      const { chaos, redeem, host, ledger, contradictions } = await startUntilTestEnds({ keys: [chaosKey('hsm')] })
      const codes = await Promise.all(Array.from({ length: 12 }, async () => (await host.mint.code()).code))
      chaos.tell({ fault })
      for (const answer of await Promise.all(codes.map((code) => redeem(code)))) {
        expect(answer.status).toBe(503)
        expect(answer.body['error']).toBe('temporarily_unavailable')
        expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d?$/)
      }
      chaos.tell({})
      for (const code of codes)
        await expect.poll(async () => (await redeem(code)).status, { timeout: 40_000 }).toBe(200)
      expect(await contradictions()).toEqual([])
      expect(unfinished(ledger)).toEqual([])
    },
  )

  it('30 % throttled: 200 or 503, and the books balance', async () => {
    const { chaos, machine, ledger, contradictions } = await startUntilTestEnds({ keys: [chaosKey('hsm')] })
    chaos.tell({ fault: 'throttle', everyNth: 3 })
    await inParallel(600, 16, machine)
    expect(ledger.count(200) + ledger.count(503)).toBe(600)
    expect(ledger.count(200)).toBeGreaterThan(0)
    expect(await contradictions()).toEqual([])
  })
})

describe('what the operator sees', () => {
  it('F32 starts without its backend, not ready, and is ready when it comes', async () => {
    const { admin, chaos, machine, host } = await startUntilTestEnds({
      keys: [chaosKey('hsm')],
      begin: { opening: 'down' },
    })
    expect((await machine()).status).toBe(503)
    expect((await fetch(`${host.server.issuer}/.well-known/openid-configuration`)).status).toBe(200)
    const report = (await (await admin('/health/ready')).json()) as { status: string }
    expect(report.status).toBe('not ready')
    chaos.tell({})
    await expect.poll(async () => (await machine()).status, { timeout: 20_000 }).toBe(200)
    await expect.poll(async () => (await admin('/health/ready')).status, { timeout: 10_000 }).toBe(200)
  })

  it('is not ready from the moment on at which the signer counts as away', async () => {
    const { admin, chaos, machine } = await startUntilTestEnds({ keys: [chaosKey('hsm')] })
    await expect.poll(async () => (await admin('/health/ready')).status).toBe(200)
    chaos.tell({ fault: 'throttle' })
    const answers = await Promise.all(Array.from({ length: 12 }, machine))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([503]))
    const reply = await admin('/health/ready')
    expect({ code: reply.status, ...((await reply.json()) as object) }).toMatchObject({
      code: 503,
      components: {
        keys: { status: 'down' },
        'keys.hsm': { status: 'down', message: expect.stringContaining('active, in chaos: proved, ') },
      },
    })
    chaos.tell({})
    await expect.poll(async () => (await admin('/health/ready')).status, { timeout: 20_000 }).toBe(200)
  })

  it('a next key that cannot sign is reported before its time comes, and takes nothing down', async () => {
    const { admin, chaos, machine } = await startUntilTestEnds({
      begin: { fault: 'throttle' },
      keys: [localKey('now'), chaosKey('soon', { not_before: new Date(Date.now() + 86_400_000).toISOString() })],
    })
    const ready = async () => {
      const reply = await admin('/health/ready')
      return { code: reply.status, ...((await reply.json()) as { components: Record<string, unknown> }) }
    }
    const waiting = { status: 'up', message: expect.stringMatching(/^next, in chaos: unproved, .*Throttling/) }
    await expect
      .poll(ready)
      .toMatchObject({ code: 200, components: { 'keys.now': { status: 'up' }, 'keys.soon': waiting } })
    expect((await machine()).status).toBe(200)
    const text = await (await admin('/metrics')).text()
    expect(text).toMatch(/signet_key_trust\{signer="chaos",kid="soon",trust="unproved",issuer="[^"]+"\} 1/)
    expect(text).toMatch(/signet_key_state\{signer="chaos",kid="soon",state="next",issuer="[^"]+"\} 1/)
    expect(text).toMatch(/signet_key_days_to_change\{signer="chaos",kid="soon",issuer="[^"]+"\} (1|0\.99)/)
    expect(text).toMatch(/signet_signer_calls_total\{signer="local",kid="now",outcome="signed",issuer="[^"]+"\} [1-9]/)
    expect(text).toMatch(/signet_signer_circuit\{signer="chaos",state="closed",issuer="[^"]+"\} 1/)
    // It is proved in the background when it answers.
    chaos.tell({})
    await expect
      .poll(async () => (await admin('/metrics')).text())
      .toMatch(/signet_key_trust\{signer="chaos",kid="soon",trust="proved",issuer="[^"]+"\} 1/)
    expect(text).not.toMatch(/client_id|sub=|service/)
  })
})
