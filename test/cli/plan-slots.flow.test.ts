import { afterAll, beforeAll, expect, it } from 'vitest'
import { collections } from '../../core/collections/collections.js'
import type { SlotRecord } from '../../core/keys/slots/slot.js'
import { readReports } from '../../core/keys/slots/slot-store.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
})
afterAll(() => cli[Symbol.asyncDispose]())

const slots = configuration()
  .replace('create: true', 'create: true, probe_secs: 60')
  .replace(/^keys:\n.*\n/m, 'keys:\n  - { slot: ed, alg: EdDSA, signer: local, rotate: { every_days: 30 } }\n')

it('keys plan shows who signs in the year ahead, what signers hold, and what is overdue', async () => {
  await cli.write('slots.yaml', slots)
  const plan = (...more: string[]) => cli.run(['keys', 'plan', '--config', 'slots.yaml', ...more])
  const service = await cli.serve(['start', '--config', 'slots.yaml'])
  service.child.kill('SIGTERM')
  expect(await service.ended).toBe(0)

  const { stdout } = await plan('--json', '--months', '3')
  const answer = JSON.parse(stdout)
  expect(answer.slots).toMatchObject([{ slot: 'ed', signer: 'local', alg: 'EdDSA', released: false }])
  expect(answer.slots[0].keys.slice(0, 2)).toMatchObject([
    { kid: 'ed-1', step: 'signing' },
    { kid: 'ed-2', step: 'expected' },
  ])
  expect(answer.warnings).toEqual([])
  const kids = answer.signing.filter(({ purpose }: { purpose: string }) => purpose === 'access_token')
  expect(kids.map(({ kid }: { kid: string }) => kid).slice(0, 3)).toEqual(['ed-1', 'ed-2', 'ed-3'])
  expect(answer.published.map(({ kid }: { kid: string }) => kid)).toEqual(['ed-1'])
  expect(answer.months).toHaveLength(3)
  // Two keys at least are probed each minute, for a whole month of 28 days at least.
  expect(answer.months[1]).toMatchObject({ signer: 'local', new_keys: expect.any(Number) })
  expect(answer.months[1].probes).toBeGreaterThanOrEqual(2 * 28 * 1440)
  expect(answer.months[1].probes).toBeLessThan(3 * 31 * 1440)

  const table = await plan()
  expect(table).toMatchObject({ code: 0, stderr: '' })
  expect(table.stdout).toMatch(/^ed: ed-1 signs, ed-2 from \d{4}-/m)
  expect(table.stdout).toMatch(/^ed {2,}ed-3 {2,}expected {2,}\d{4}-/m)
  expect(table.stdout).not.toContain('275760')

  await using backend = await openEmbedded({ path: `${cli.folder}/data/store`, clock: Date.now })
  const { keySlots } = collections({ records: backend, ephemeral: backend } as never)
  await keySlots.update('ed', (record) => {
    const delay = { reason: 'the token has no space', since: 0, failures: 3, refused: true }
    const [first] = record!.keys
    const late: SlotRecord = { ...record!, delay, keys: [{ ...first!, not_before: 0 }] }
    return { result: undefined, write: { record: late } }
  })
  const overdue = await plan()
  expect(overdue.code).toBe(1)
  expect(overdue.stdout).toMatch(/^ed is overdue since 1970-01-17T00:00:00.*: the token has no space$/m)
  expect(JSON.parse((await plan('--json')).stdout).slots[0].overdue).toMatchObject({ reason: 'the token has no space' })
})

it('keys plan refuses a number of months that is none', async () => {
  for (const months of ['0', '61', '1.5', 'x', '-1'])
    expect(await cli.run(['keys', 'plan', '--config', 'slots.yaml', '--months', months])).toMatchObject({ code: 2 })
})

it('keys plan counts the probes of all workers of a host once, and those of other processes each', async () => {
  await using own = await openCommandLine()
  await own.write('slots.yaml', slots)
  const service = await own.serve(['start', '--config', 'slots.yaml'])
  service.child.kill('SIGTERM')
  expect(await service.ended).toBe(0)
  await using backend = await openEmbedded({ path: `${own.folder}/data/store`, clock: Date.now })
  const { replicas } = collections({ records: backend, ephemeral: backend } as never)
  for (const { replica } of await readReports(replicas)) await replicas.remove(replica)
  const probes = async () => {
    const { stdout } = await own.run(['keys', 'plan', '--json', '--months', '2', '--config', 'slots.yaml'])
    return JSON.parse(stdout).months[1].probes as number
  }
  const report = (replica: string, host: string, pool?: string) =>
    replicas.put(
      replica,
      { ...{ replica, at: Date.now(), host, pid: 1, published: [], proved: [] }, ...(pool !== undefined && { pool }) },
      { ttlSeconds: 600 },
    )
  const one = await probes()
  for (const worker of ['w1', 'w2', 'w3']) await report(worker, 'a', '100')
  expect(await probes()).toBe(one)
  await report('w4', 'a', '200')
  await report('w5', 'b', '100')
  await report('w6', 'c')
  expect(await probes()).toBe(4 * one)
})

it.each([
  [
    '{ kid: old, alg: EdDSA, signer: local, ref: old }',
    'old stands before the slot ed and signs for ever in its place: give it a not_after',
  ],
  ["{ kid: old, alg: EdDSA, signer: local, ref: old, not_after: '2099-01-01T00:00:00Z' }", undefined],
  ['{ kid: old, alg: ES256, signer: local, ref: old }', undefined],
  ['{ kid: old, alg: EdDSA, signer: local, ref: old, purposes: [id_token] }', undefined],
])('keys plan warns of a fixed key that signs in the place of a slot: %s', async (entry, warning) => {
  await using own = await openCommandLine()
  const plan = async (file: string) => {
    await own.write('slots.yaml', file)
    const { stdout } = await own.run(['keys', 'plan', '--json', '--config', 'slots.yaml'])
    const { warnings } = JSON.parse(stdout) as { readonly warnings: readonly string[] }
    return warnings.filter((text) => text.includes('stands before'))
  }
  expect(await plan(slots.replace('keys:\n', `keys:\n  - ${entry}\n`))).toEqual(warning === undefined ? [] : [warning])
  expect(await plan(slots.replace('plugins:\n', `  - ${entry}\nplugins:\n`))).toEqual([])
})
