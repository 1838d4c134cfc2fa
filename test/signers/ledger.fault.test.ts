import { describe, expect, it } from 'vitest'
import type { AuditEvent, AuditLog } from '../../core/observe/audit.js'
import type { OneTimeStore, StorageBackend } from '../../core/storage/ports.js'
import { auditServer, unfinished } from '../support/load/ledger/audit-books.js'
import { Ledger } from '../support/load/ledger/ledger.js'
import { inBothRoles } from '../support/stores/failing-store.js'
import { chaosKey, inParallel, localKey, startUntilTestEnds } from '../support/signers/signer-driver.js'

/** The oracle of the faults, run on builds that are broken on purpose: it must find what is wrong with each. */
/** A store whose codes answer as `change` has it. */
const withCodes =
  (change: (codes: OneTimeStore<unknown>) => Partial<OneTimeStore<unknown>>) =>
  (sound: StorageBackend): StorageBackend => ({
    ...sound,
    oneTime: <T>(name: string): OneTimeStore<T> => {
      const codes = sound.oneTime<T>(name)
      return name === 'codes' ? { ...codes, ...(change(codes) as Partial<OneTimeStore<T>>) } : codes
    },
  })

describe('the ledger', () => {
  it('finds no fault in the product', async () => {
    const { machine, redeem, host, contradictions, ledger } = await startUntilTestEnds({
      keys: [localKey('es256.pem')],
    })
    const { code } = await host.mint.code()
    expect((await redeem(code)).status).toBe(200)
    expect((await redeem(code, false)).body['error']).toBe('invalid_grant')
    await inParallel(50, 8, machine)
    expect(await contradictions()).toEqual([])
    expect(unfinished(ledger)).toEqual([])
  })

  it('finds tokens with an unverified signature', async () => {
    const { chaos, machine, contradictions } = await startUntilTestEnds({ keys: [chaosKey('hsm')], unverified: true })
    chaos.tell({ fault: 'flip', everyNth: 10 })
    await inParallel(100, 8, machine)
    expect(await contradictions()).toEqual([
      expect.stringMatching(/^a token left that its published key does not verify/),
    ])
  })

  it('finds a code that was redeemed twice', async () => {
    const store = withCodes((codes) => ({
      redeem: async (id) => {
        const found = await codes.find(id)
        return found === undefined ? { outcome: 'unknown' } : { outcome: 'won', record: found }
      },
    }))
    const { redeem, host, contradictions } = await startUntilTestEnds({
      keys: [localKey('es256.pem')],
      doubles: { stores: inBothRoles(store) },
    })
    const { code } = await host.mint.code()
    await Promise.all([redeem(code), redeem(code, false)])
    expect(await contradictions()).toEqual([`${code} succeeded 2 times`])
  })

  it('finds an outage that was reported as an invalid grant', async () => {
    const nothing = () => Promise.resolve(undefined)
    const store = withCodes(() => ({ find: nothing, findUnused: nothing }))
    const { redeem, host, contradictions, ledger } = await startUntilTestEnds({
      keys: [localKey('es256.pem')],
      doubles: { stores: inBothRoles(store) },
    })
    const { code } = await host.mint.code()
    await redeem(code)
    expect(await contradictions()).toEqual(['an honest client got 400 invalid_grant'])
    expect(unfinished(ledger)).toEqual([code])
  })

  it('finds tokens and signatures that are missing in the audit log', async () => {
    const without =
      (name: string) =>
      (sound: AuditLog): AuditLog => ({
        record: (...events: readonly AuditEvent[]) => sound.record(...events.filter(({ event }) => event !== name)),
      })
    for (const [name, contradiction] of [
      ['token.signed', 'a token left that the audit log does not know'],
      ['token.issued', 'a token left that was never recorded as issued'],
    ] as const) {
      const doubles = { store: (store: StorageBackend) => store, audit: without(name) }
      const { machine, contradictions } = await startUntilTestEnds({ keys: [localKey('es256.pem')], doubles })
      await machine()
      expect(await contradictions()).toEqual([contradiction])
    }
  })

  it('finds requests without an answer, and tokens that were not delivered', async () => {
    const { machine, host } = await startUntilTestEnds({ keys: [localKey('es256.pem')] })
    await machine()
    const ledger = new Ledger()
    await expect(ledger.ask({ honest: true }, () => Promise.reject(new Error('reset')))).rejects.toThrow('reset')
    expect(await auditServer(ledger, host.server)).toEqual([
      'a request was never answered',
      'a token was recorded as issued that nobody got',
    ])
  })
})
