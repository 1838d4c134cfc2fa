import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

// Other tests run their commands in a process that runs many. These run as users do, in one each, and come out the same.

const client =
  '{ client_id: svc, client_secret: svc-secret-of-more-than-256-bits-for-tests, grant_types: [client_credentials], scope: api }'

describe('a command in a process of its own', () => {
  let cli: CommandLine
  beforeAll(async () => {
    cli = await openCommandLine()
    await cli.write('signet.yaml', configuration(`clients: [${client}]\naudit: { file: ./audit.jsonl }\n`))
    await cli.write('bad.yaml', configuration('log: { level: loud }\n'))
    const made = await cli.run(['migrate', '--config', 'signet.yaml'], { alone: true })
    expect(made).toMatchObject({ code: 0, stderr: '' })
  })
  afterAll(() => cli[Symbol.asyncDispose]())

  it.each([
    [['--version'], 0],
    [['help', 'keys'], 0],
    [['chekc'], 2],
    [['check', 'signet.yaml'], 0],
    [['check', 'bad.yaml', '--json'], 1],
    [['start', '--config', 'bad.yaml'], 1],
    [['keys', 'list', '--config', 'signet.yaml'], 0],
    [['clients', 'list', '--config', 'signet.yaml', '--json'], 0],
    [['grants', 'list', '--sub', 'nobody', '--config', 'signet.yaml'], 0],
    [['audit', 'verify', 'absent.jsonl'], 1],
  ])('%j exits with %i and the same text', async (args, code) => {
    const alone = await cli.run(args, { alone: true })
    expect(alone.code).toBe(code)
    expect(alone.stdout + alone.stderr).not.toBe('')
    expect(await cli.run(args)).toEqual(alone)
  })

  it('reads standard input, and finishes its work before it exits', async () => {
    const input = 'a password of more than eight\n'
    const add = ['accounts', 'add', 'bob', '--password-stdin', '--config', 'signet.yaml', '--json']
    expect(await cli.run(add, { alone: true, input })).toMatchObject({ code: 0, stderr: '' })
    const log = await readFile(join(cli.folder, 'audit.jsonl'), 'utf8')
    expect(await cli.run(['audit', 'verify'], { alone: true, input: log })).toMatchObject({ code: 0, stderr: '' })
    const again = { code: 1, stderr: 'The username is taken.\n' }
    expect(await cli.run(add, { input })).toMatchObject(again)
  })
})
