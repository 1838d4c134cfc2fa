import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDevice } from '../support/clients/attestation.js'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

let cli: CommandLine
let service: Service
beforeAll(async () => {
  cli = await openCommandLine()
  await cli.write(
    'signet.yaml',
    configuration('  - { use: plugins/attestation/approval }\nattestation: { signing_alg: EdDSA }'),
  )
  service = await cli.serve(['start', '--config', 'signet.yaml'])
})
afterAll(() => cli[Symbol.asyncDispose]())

const principals = (...args: string[]) => cli.run(['principals', ...args, '--config', 'signet.yaml'])
const newDevice = (id: string) =>
  createDevice(service.public, { principal_id: id, second_factor: { kind: 'approval', value: '4711' } })
const waiting = async (): Promise<Record<string, unknown>[]> =>
  JSON.parse((await principals('waiting', '--json')).stdout) as Record<string, unknown>[]
const idOf = async (principalId: string): Promise<string> =>
  String((await waiting()).find((one) => one['principal_id'] === principalId)?.['id'])

describe('signet principals deny of many', () => {
  it('AN21 denies all waiting requests, or those from one address, and prints their number', async () => {
    const crowd = async (name: string) => {
      for (let count = 0; count < 3; count += 1) await (await newDevice(`${name}-${String(count)}`)).enrol()
    }
    await crowd('invented')
    const approved = await newDevice('approved-before')
    await approved.enrol()
    await principals('approve', await idOf('approved-before'))
    expect(await principals('deny', '--address', '127.0.0.2')).toMatchObject({
      code: 1,
      stdout: 'Denied 0 enrolments\n',
    })
    expect((await principals('deny', '--all', '--kind', 'webhook')).stdout).toBe('Denied 0 enrolments\n')
    expect(await waiting()).toHaveLength(3)
    expect(await principals('deny', '--address', '::ffff:7f00:1')).toMatchObject({ stdout: 'Denied 3 enrolments\n' })
    expect(await waiting()).toEqual([])
    await crowd('again')
    const { stdout } = await principals('deny', '--all', '--kind', 'approval', '--json')
    expect(JSON.parse(stdout)).toEqual({ denied: 3 })
    expect(await waiting()).toEqual([])
    expect((await approved.enrol()).status).toBe(200)
    const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
    expect(audit).toContain('"event":"administration","action":"principal.deny","address":"127.0.0.1"')
    expect(audit).toContain('"event":"administration","action":"principal.deny","kind":"approval","which":"all"')
  })

  it.each([
    ['neither an id nor which', ['deny'], 'give an id, --address or --all'],
    ['an id and --all', ['deny', '0123456789abcdef', '--all'], 'give an id, --address or --all'],
    ['--address and --all', ['deny', '--address', '127.0.0.1', '--all'], 'cannot be used with'],
    ['--kind with an id', ['deny', '0123456789abcdef', '--kind', 'approval'], '--kind goes with --address or --all'],
  ])('denies nothing with %s', async (_, args, message) => {
    const { code, stderr } = await principals(...args)
    expect(code).not.toBe(0)
    expect(stderr).toContain(message)
  })
})
