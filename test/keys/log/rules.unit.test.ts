import { describe, expect, it } from 'vitest'
import { findEntries, type Followed } from '../../../core/keys/log/follow-keys.js'
import type { LoggedKey } from '../../../core/keys/log/head.js'
import { minimal, plugins } from '../../support/server/config-files.js'
import { problemsOf } from '../../support/server/problems-of.js'
import { entryOf } from './log-double.js'

const withLog = (key: string, issuer?: string) => {
  const written = minimal(plugins).replace(
    /^keys: \[(.*)\]$/m,
    (_, fixed: string) => `keys: [${fixed}${key}]\nkey_log: true`,
  )
  return issuer === undefined ? written : written.replace(/^issuer: .*$/m, `issuer: ${issuer}`)
}

describe('key_log in the configuration', () => {
  const needs = 'key_log: needs a key with `alg: EdDSA` and `purposes: [audit]` that signs the log: add one to `keys`'

  it.each([
    ['a key', ', { kid: log, alg: EdDSA, signer: local, ref: log.pem, purposes: [audit] }', []],
    ['a slot', ', { slot: log, alg: EdDSA, signer: local, purposes: [audit] }', []],
    ['no key', '', [needs]],
    [
      'a key of another algorithm',
      ', { kid: log, alg: ES256, signer: local, ref: log.pem, purposes: [audit] }',
      [needs],
    ],
    ['a key for tokens', ', { kid: log, alg: EdDSA, signer: local, ref: log.pem }', [needs]],
  ])('is checked with %s', async (_what, key, problems) => {
    expect(await problemsOf(withLog(key))).toEqual(problems)
  })

  it('cannot name a log with a plus sign', async () => {
    const key = ', { kid: log, alg: EdDSA, signer: local, ref: log.pem, purposes: [audit] }'
    expect(await problemsOf(withLog(key, 'https://id.bank.example/a+b'))).toEqual([
      'key_log: cannot name a log of this issuer: the name of a log has no plus sign',
    ])
  })
})

describe('what the log lacks', () => {
  const now = Date.parse('2026-11-26T00:00:00Z')
  const keyOf = (step: LoggedKey['step'], more: Partial<LoggedKey> = {}): LoggedKey => {
    const { kid, thumbprint, alg, purposes, signer } = entryOf(1)
    return { kid, thumbprint, alg, purposes, signer, step, ...more }
  }
  const found = (logged: readonly LoggedKey[], followed: Partial<Followed>, isChange = false) =>
    findEntries(logged, { keys: [], removed: new Map(), destroyed: [], ...followed }, isChange, now).map(
      ({ step }) => step,
    )

  it('is each step that lies before the present one of a key, and nothing twice', () => {
    const steps = ['published', 'signing', 'retired', 'gone'] as const
    const after: Readonly<Record<(typeof steps)[number], readonly string[]>> = {
      published: ['published'],
      signing: ['published', 'signing'],
      retired: ['published', 'retired'],
      gone: [],
    }
    for (const step of steps) expect(found([], { keys: [keyOf(step)] })).toEqual(after[step])
    for (const [place, before] of steps.entries())
      for (const [other, step] of steps.slice(0, 3).entries()) {
        const expected = before === 'gone' ? after[step] : other > place ? [step] : []
        expect(found([keyOf(before)], { keys: [keyOf(step)] })).toEqual(expected)
      }
  })

  it('is no step back that a replica sees whose clock is behind, and one that a configuration makes', () => {
    expect(found([keyOf('retired')], { keys: [keyOf('signing')] })).toEqual([])
    expect(found([keyOf('retired')], { keys: [keyOf('signing')] }, true)).toEqual(['signing'])
    const other = keyOf('signing', { purposes: ['jarm'] })
    expect(found([keyOf('signing')], { keys: [other] })).toEqual([])
    expect(found([keyOf('signing')], { keys: [other] }, true)).toEqual(['signing'])
    expect(found([keyOf('signing')], { keys: [keyOf('signing')] }, true)).toEqual([])
  })

  it('is the publication of another key under a kid, whatever the step', () => {
    expect(found([keyOf('signing')], { keys: [keyOf('signing', { thumbprint: 'other' })] })).toEqual([
      'published',
      'signing',
    ])
  })

  it('is the end of keys that this process removed, and of no others', () => {
    const logged = [keyOf('signing'), keyOf('gone', { kid: 'over' }), keyOf('published', { kid: 'others' })]
    const removed = new Map([
      ['es-1', 'withdrawn'] as const,
      ['over', 'withdrawn'] as const,
      ['unknown', 'gone'] as const,
    ])
    expect(found(logged, { removed })).toEqual(['withdrawn'])
    expect(found(logged, {}, true)).toEqual([])
    // A key that this process has again has not ended.
    expect(found([keyOf('signing')], { keys: [keyOf('signing')], removed })).toEqual([])
    // It is published again, by this process too.
    expect(found([keyOf('withdrawn')], { keys: [keyOf('signing')], removed })).toEqual(['published', 'signing'])
    expect(found([keyOf('signing')], { destroyed: ['es-1', 'unknown'] })).toEqual(['destroyed'])
    expect(found([keyOf('destroyed')], { destroyed: ['es-1'] })).toEqual([])
  })
})
