import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { lineHash } from '../../core/observe/audit-chain.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
})
afterAll(() => cli[Symbol.asyncDispose]())

const [issued, unsigned, stolen] = [randomUUID(), randomUUID(), randomUUID()]
const time = '2026-11-20T10:00:00.000Z'
const line = (reference: string, jti: string) =>
  JSON.stringify({
    v: 1,
    time,
    event: 'token.signed',
    jti,
    client_id: 'svc',
    signatures: [{ kid: 'k', signer: 'kms', reference }],
  })
const sign = (requestID: string) => ({
  eventName: 'Sign',
  eventTime: time,
  requestID,
  resources: [{ ARN: 'arn:aws:kms:x:1:key/k' }],
})

describe('signet audit reconcile', () => {
  it('exits with 0 when both logs contain the same signatures', async () => {
    await cli.write('audit.jsonl', `${line(issued, 'j1')}\n`)
    await cli.write('trail.json', JSON.stringify({ Records: [sign(issued)] }))
    await cli.write('signet.yaml', configuration('audit: { file: ./audit.jsonl }'))
    const named = await cli.run(['audit', 'reconcile', '--cloudtrail', 'trail.json', '--audit', 'audit.jsonl'])
    expect(named).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^1 signatures in CloudTrail, 1 in the audit log, 1 in both/),
    })
    const configured = await cli.run(['audit', 'reconcile', '--cloudtrail', 'trail.json', '--config', 'signet.yaml'])
    expect(configured.code).toBe(0)
  })

  it('names signatures that only one of them has', async () => {
    await cli.write('audit.jsonl', `${line(issued, 'j1')}\n${line(unsigned, 'j2')}\n`)
    await cli.write('trail.json', JSON.stringify({ Records: [sign(issued), sign(stolen)] }))
    const args = ['audit', 'reconcile', '--cloudtrail', 'trail.json', '--audit', 'audit.jsonl']
    const { code, stdout } = await cli.run(args)
    expect(code).toBe(1)
    expect(stdout).toMatch(new RegExp(`^1 signatures without a token\\n.*\\n.*${stolen}`, 'm'))
    expect(stdout).toMatch(new RegExp(`^1 tokens without a signature\\n.*\\n.*${unsigned} .*j2$`, 'm'))
    const later = await cli.run([...args, '--from', '2026-11-21T00:00:00Z', '--json'])
    expect(JSON.parse(later.stdout)).toMatchObject({ unissued: [], unsigned: [] })
    expect(later.code).toBe(0)
  })

  it('reports a missing input', async () => {
    expect(await cli.run(['audit', 'reconcile'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--cloudtrail'),
    })
    const none = await cli.run(['audit', 'reconcile', '--cloudtrail', 'absent.json'])
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('No audit log') })
    const absent = await cli.run(['audit', 'reconcile', '--cloudtrail', 'absent.json', '--audit', 'audit.jsonl'])
    expect(absent).toMatchObject({ code: 1, stderr: expect.stringContaining('absent.json') })
  })
})

describe('signet audit verify', () => {
  /** Two commands that the log records, each with two lines. */
  const addClients = async (log: string): Promise<string[]> => {
    await cli.write('signet.yaml', configuration(`audit: { file: ./${log} }`))
    await cli.run(['migrate', '--config', 'signet.yaml'])
    for (let count = 0; count < 2; count++) {
      const added = await cli.run(['clients', 'add', '--config', 'signet.yaml', '--grant-type', 'client_credentials'])
      expect(added.code).toBe(0)
    }
    return (await readFile(join(cli.folder, log), 'utf8')).trimEnd().split('\n')
  }

  it('exits with 0 when every chain is whole, from a file and from standard input', async () => {
    const lines = await addClients('whole.jsonl')
    const named = await cli.run(['audit', 'verify', 'whole.jsonl'])
    expect(named).toMatchObject({ code: 0, stdout: expect.stringContaining('Every chain is complete.') })
    const piped = await cli.run(['audit', 'verify', '--json'], { input: lines.join('\n') })
    expect(piped.code).toBe(0)
    const { writers } = JSON.parse(piped.stdout) as { writers: { head: string }[] }
    expect(writers).toHaveLength(2)
    const head = writers[1]?.head ?? ''
    const cut = await cli.run(['audit', 'verify', '-', '--head', head], { input: `${lines[0] ?? ''}\n` })
    expect(cut).toMatchObject({ code: 1, stdout: expect.stringContaining(`head ${head}: no line has this hash`) })
  })

  it('counts the signatures of each key in a period', async () => {
    const line = (time: string, event: string, more: object) => JSON.stringify({ time, event, ...more })
    const signature = (kid: string, reference?: string) => ({ kid, signer: 'hsm', digest: 'x', reference })
    await cli.write(
      'count.jsonl',
      [
        line('2026-11-20T10:00:00Z', 'key.proved', { kid: 'a', signer: 'hsm', reference: '1.1:1' }),
        line('2026-11-20T10:00:01Z', 'token.signed', { signatures: [signature('a', '1.1:2'), signature('b')] }),
        line('2026-11-20T10:00:02Z', 'userinfo.released', signature('a', '1.1:3')),
        line('2026-11-20T10:00:03Z', 'key.activated', { kid: 'a', signer: 'hsm' }),
        line('2026-11-20T11:00:00Z', 'token.signed', { signatures: [signature('a', '1.1:4')] }),
        // As a service writes it: a probe has the name that the backend gives to the key.
        line('2026-11-21T00:00:00Z', 'key.proved', { signer: 'hsm', ref: 'pkcs11:object=a', digest: 'x' }),
      ].join('\n'),
    )
    const count = async (...more: string[]) =>
      JSON.parse((await cli.run(['audit', 'count', 'count.jsonl', '--json', ...more])).stdout)
    const [first, last] = ['2026-11-20T10:00:00Z', '2026-11-20T11:00:00Z']
    const onlyB = {
      kid: 'b',
      signer: 'hsm',
      issued: 1,
      probes: 0,
      first: '2026-11-20T10:00:01Z',
      last: '2026-11-20T10:00:01Z',
    }
    const night = '2026-11-21T00:00:00Z'
    const probes = { kid: 'pkcs11:object=a', signer: 'hsm', issued: 0, probes: 1, first: night, last: night }
    expect(await count()).toEqual([{ kid: 'a', signer: 'hsm', issued: 3, probes: 1, first, last }, onlyB, probes])
    expect(await count('--until', last)).toEqual([
      { kid: 'a', signer: 'hsm', issued: 2, probes: 1, first, last: '2026-11-20T10:00:02Z' },
      onlyB,
    ])
    expect(await count('--from', night)).toEqual([probes])
    expect(await count('--from', '2026-11-22T00:00:00Z')).toEqual([])
  })

  it('verifies the log of the configuration when no file is named', async () => {
    await addClients('own.jsonl')
    await cli.write('own.yaml', configuration('audit: { file: ./own.jsonl }'))
    const own = await cli.run(['audit', 'verify', '--config', 'own.yaml'], { input: 'not a log' })
    expect(own).toMatchObject({ code: 0, stderr: 'audit log: ./own.jsonl\n' })
    await cli.write('printed.yaml', configuration('audit: stdout'))
    const printed = await cli.run(['audit', 'verify', '--config', 'printed.yaml'])
    expect(printed).toMatchObject({ code: 1, stderr: expect.stringContaining('is not a file: name the files') })
  })

  it('accepts several heads, also one that looks like an option, before or after the file', async () => {
    const lines = await addClients('heads.jsonl')
    const heads = lines.map(lineHash)
    // One in 64 begins so.
    const dashed = `-${heads[0]?.slice(1) ?? ''}`
    const given = [...heads, dashed].flatMap((head) => ['--head', head])
    for (const words of [
      [...given, 'heads.jsonl'],
      ['heads.jsonl', ...given],
    ]) {
      const { code, stdout } = await cli.run(['audit', 'verify', ...words, '--json'])
      expect({ code, lost: (JSON.parse(stdout) as { lostHeads: string[] }).lostHeads }).toEqual({
        code: 1,
        lost: [dashed],
      })
    }
  })

  it('exits with 1 for a changed line, which it names, and for an unreadable file', async () => {
    const [first = '', ...others] = await addClients('changed.jsonl')
    const input = [first.replace('client.add', 'client.remove'), ...others].join('\n')
    const changed = await cli.run(['audit', 'verify'], { input })
    expect(changed).toMatchObject({ code: 1, stdout: expect.stringMatching(/^line 2 of [0-9a-f]{16}: changed: /m) })
    const absent = await cli.run(['audit', 'verify', 'absent.jsonl'])
    expect(absent).toMatchObject({ code: 1, stderr: expect.stringContaining('absent.jsonl') })
  })

  it('exits with 1 when there is nothing to verify, because an empty log is not a complete one', async () => {
    for (const words of [[], ['--json'], ['-']]) {
      const empty = await cli.run(['audit', 'verify', ...words], { input: '' })
      expect(empty).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('nothing was verified') })
    }
  })
})
