import { describe, expect, it } from 'vitest'
import type { AuditEvent } from '../../core/observe/audit.js'
import { RefusalCounts } from '../../core/observe/refusal-counts.js'

const kind = (reason: string) => ({ event: 'token.refused', error: 'invalid_grant', reason }) as const
const from = (address: string | undefined, clientId?: string) => ({ address, clientId })
const home = from('192.0.2.1')

const sumOf = (lines: readonly AuditEvent[]): number => lines.reduce((sum, line) => sum + Number(line['count']), 0)

describe('refusals of callers who have proved nothing', () => {
  it('AN10 are logged once at first, then one line per second and kind', () => {
    const counts = new RefusalCounts()
    expect(counts.isEmpty).toBe(true)
    expect(counts.add(kind('a'), home)).toBe(true)
    for (let more = 0; more < 999; more++) expect(counts.add(kind('a'), home)).toBe(false)
    expect(counts.add(kind('b'), home)).toBe(true)
    expect(counts.add(kind('a'), from('192.0.2.2'))).toBe(true)
    expect(counts.drain()).toEqual([{ ...kind('a'), address: '192.0.2.1', count: 999 }])
    // What goes on is known by now, and what has ended is forgotten.
    expect(counts.add(kind('a'), home)).toBe(false)
    expect(counts.add(kind('b'), home)).toBe(true)
    expect(counts.drain()).toEqual([{ ...kind('a'), address: '192.0.2.1', count: 1 }])
    expect(counts.drain()).toEqual([])
    expect(counts.isEmpty).toBe(true)
    expect(counts.add(kind('a'), home)).toBe(true)
  })

  it('AN10 are distinguished by event, error, named error, reason and account', () => {
    const counts = new RefusalCounts()
    const kinds = [
      kind('a'),
      { ...kind('a'), event: 'client.refused' },
      { ...kind('a'), error: 'invalid_scope' },
      { ...kind('a'), error_code: 'BadJwk' },
      { ...kind('a'), sub: 'a-1' },
    ] as const
    for (const one of kinds) expect(counts.add(one, home)).toBe(true)
    for (const one of kinds) expect(counts.add(one, home)).toBe(false)
    expect(counts.drain()).toEqual(kinds.map((one) => ({ ...one, address: '192.0.2.1', count: 1 })))
  })

  it('AN11 get ten lines a second per address, however many kinds they have', () => {
    const counts = new RefusalCounts()
    let atOnce = 0
    for (let round = 0; round < 3; round++)
      for (let index = 0; index < 50; index++) if (counts.add(kind(`reason ${String(index)}`), home)) atOnce++
    expect(atOnce).toBe(10)
    const lines = counts.drain()
    expect(lines).toHaveLength(10)
    expect(sumOf(lines)).toBe(140)
    expect(lines.at(-1)).toEqual({ event: 'request.refused', reason: 'other', address: '192.0.2.1', count: 122 })
    // They were the lines of the second that begins.
    expect(counts.add(kind('a new one'), home)).toBe(false)
    expect(counts.add(kind('a new one'), from('192.0.2.2'))).toBe(true)
    expect(sumOf(counts.drain())).toBe(1)
  })

  it('AN12 get 200 lines a second for all addresses, with 10,000 kinds remembered', () => {
    const counts = new RefusalCounts()
    let atOnce = 0
    for (let round = 0; round < 2; round++)
      for (let index = 0; index < 12_000; index++)
        if (counts.add(kind('a'), from(`address ${String(index)}`, 'web'))) atOnce++
    expect(atOnce).toBe(200)
    for (let second = 0; second < 2; second++) {
      const lines = counts.drain()
      expect(lines).toHaveLength(200)
      expect(sumOf(lines)).toBe(24_000 - 200)
      expect(lines.at(-1)).toMatchObject({ event: 'request.refused', reason: 'other', claimed_client_id: 'web' })
      expect(lines.at(-1)?.['address']).toBeUndefined()
      atOnce = 0
      for (let index = 0; index < 23_800; index++)
        if (counts.add(kind('a'), from(`address ${String(index % 12_000)}`, 'web'))) atOnce++
      expect(atOnce).toBe(0)
    }
  })

  it('AN17 name up to eight clients, and one as one', () => {
    const counts = new RefusalCounts()
    counts.add(kind('a'), home)
    counts.add(kind('a'), from('192.0.2.1', 'web'))
    counts.add(kind('a'), from('192.0.2.1', 'web'))
    expect(counts.drain()).toEqual([{ ...kind('a'), address: '192.0.2.1', claimed_client_id: 'web', count: 2 }])
    for (let index = 0; index < 20; index++) counts.add(kind('a'), from('192.0.2.1', `client ${String(index)}`))
    const [line] = counts.drain()
    expect(line).toMatchObject({ count: 20 })
    expect(line?.['claimed_client_ids']).toEqual(Array.from({ length: 8 }, (_, index) => `client ${String(index)}`))
  })
})
