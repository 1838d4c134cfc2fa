import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findKeyLogFaults, type KeyLogPart, type KeyLogRules } from '../../core/operate/pack/key-log-part.js'
import { packsFrom, soon } from '../support/server/audited-deployment.js'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

const auditKey = '  - { kid: audit-1, alg: EdDSA, signer: local, ref: audit-1, purposes: [audit] }\n'
const more = '  - { kid: es-1, alg: ES256, signer: local, ref: es-1, not_before: 2999-01-01T00:00:00Z }\n'
const text = configuration('audit: { file: ./audit.jsonl }\nkey_log: true').replace(/^plugins:/m, `${auditKey}plugins:`)

let cli: CommandLine
let service: Service
beforeAll(async () => {
  cli = await openCommandLine()
  await cli.write('signet.yaml', text)
  service = await cli.serve(['start', '--config', 'signet.yaml'])
})
afterAll(() => cli[Symbol.asyncDispose]())

/** How many entries the checkpoint that is served covers. */
const entriesOf = async (): Promise<number> => {
  const answer = await fetch(new URL('/keys/log/checkpoint', service.public))
  return Number((await answer.text()).split('\n')[1])
}
const make = async (out: string, from: string): Promise<KeyLogPart> => {
  const range = ['--from', from, '--to', await soon()]
  const made = await cli.run(['audit', 'pack', '--config', 'signet.yaml', ...range, '--out', out])
  expect(made).toMatchObject({ code: 0, stderr: '' })
  const verified = await cli.run(['audit', 'pack', '--verify', out, '--key', 'jwks.json'])
  expect(verified).toMatchObject({ code: 0 })
  expect(verified.stdout).not.toContain('key log')
  return JSON.parse(await readFile(join(cli.folder, out, 'key-log.json'), 'utf8')) as KeyLogPart
}

describe("the key log in an auditor's pack", () => {
  it('has the entries of the range, each with its proof, from the beginning of the log or its middle', async () => {
    await expect.poll(() => entriesOf()).toBe(4)
    const between = await soon()
    await cli.write('signet.yaml', text.replace(/^plugins:/m, `${more}plugins:`))
    expect((await fetch(new URL('/reload', service.admin), { method: 'POST' })).status).toBe(200)
    await expect.poll(() => entriesOf()).toBe(5)
    const jwks = await (await fetch(new URL('/jwks.json', service.public))).text()
    await cli.write('jwks.json', jwks)

    const whole = await make('whole', packsFrom)
    expect(whole.begins).toEqual({ size: 0 })
    expect(whole.entries.map(({ entry }) => JSON.parse(entry)).map(({ kid, step }) => `${kid} ${step}`)).toEqual(
      expect.arrayContaining(['ed-1 published', 'audit-1 published', 'ed-1 signing', 'es-1 published']),
    )
    const later = await make('later', between)
    expect(later).toMatchObject({ begins: { size: 4 }, ends: { size: 5 } })
    expect(later.entries).toHaveLength(1)
    const empty = await make('empty', await soon())
    expect(empty).toMatchObject({ begins: { size: 5 }, ends: { size: 5 }, entries: [] })
  })

  it('KR72: is found out when it lacks, has or says anything else, and when the checkpoint is not of a known key', async () => {
    const part = JSON.parse(await readFile(join(cli.folder, 'later', 'key-log.json'), 'utf8')) as KeyLogPart
    const { keys } = JSON.parse(await readFile(join(cli.folder, 'later', 'keys.json'), 'utf8'))
    const known = new Map<string, string>(keys.map(({ kid, thumbprint }: Record<string, string>) => [kid, thumbprint]))
    const rules: KeyLogRules = {
      issuer: 'http://localhost:3000',
      signers: keys.map(({ jwk }: { jwk: unknown }) => jwk),
      known,
    }
    expect(findKeyLogFaults(part, rules)).toEqual([])
    const [entry] = part.entries
    const other = { ...entry!, entry: entry!.entry.replace('es-1', 'ed-1') }
    const root = Buffer.alloc(32).toString('base64')
    const wrong: Partial<KeyLogPart>[] = [
      { entries: [] },
      { entries: [other] },
      { entries: [{ ...entry!, index: 3 }] },
      { entries: [{ ...entry!, proof: [] }] },
      { entries: [entry!, entry!] },
      { begins: { ...part.begins, root } },
      { begins: { ...part.begins, size: 3 } },
      { ends: { ...part.ends, root } },
      { ends: { ...part.ends, size: 6 } },
      { consistency: { ...part.consistency, range: [] } },
      { consistency: { ...part.consistency, checkpoint: [root] } },
      { checkpoint: part.checkpoint.replace('\n5\n', '\n6\n') },
      { checkpoint: 'x' },
    ]
    for (const change of wrong)
      expect(findKeyLogFaults({ ...part, ...change }, rules), JSON.stringify(change)).not.toEqual([])
    expect(findKeyLogFaults(part, { ...rules, issuer: 'http://localhost:3001' })).toEqual([
      'is the log of another issuer',
    ])
    expect(findKeyLogFaults(part, { ...rules, signers: [{ kty: 'oct', k: 'x' }, null] })).toEqual([
      'has a checkpoint that none of the known keys has signed',
    ])
    expect(findKeyLogFaults(part, { ...rules, known: new Map() })).toEqual([
      'es-1 is in the log, and not among the keys',
    ])
    expect(findKeyLogFaults(part, { ...rules, known: new Map([['es-1', 'x']]) })).toEqual([
      'es-1 is another key in the log',
    ])
  })
})
