import { beforeAll, describe, expect, it } from 'vitest'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

const keep = disposeAfterAll()
let cli: CommandLine
const run = (...args: string[]) => cli.run([...args, '--config', 'signet.yaml'])
beforeAll(async () => {
  cli = keep(await openCommandLine())
  await cli.write('signet.yaml', configuration(''))
  await run('migrate')
  const secret = '{ $env: SECRET_OF_THE_SERVICE }'
  const totp = `  - { use: plugins/login/totp, options: { after: [password], sealing_key: ${secret} } }\n`
  await cli.write('signet.yaml', configuration('').replace(/^plugins:\n/m, `plugins:\n${totp}`))
})

const missing = /plugins\[\d\]\.options\.sealing_key: the environment variable SECRET_OF_THE_SERVICE is not set/

describe('a shell without the secrets of the service', () => {
  it('is enough for commands that work on the stores', async () => {
    await cli.write('people.jsonl', '{"username":"ann","sub":"ann-1"}\n')
    expect(await run('accounts', 'import', 'people.jsonl')).toMatchObject({ code: 0, stderr: '' })
    for (const args of [
      ['accounts', 'list'],
      ['accounts', 'disable', 'ann'],
      ['people', 'end', '--sub', 'ann-1'],
      ['clients', 'list'],
      ['grants', 'revoke', '--sub', 'ann-1'],
      ['operators', 'list'],
    ])
      expect((await run(...args)).stderr, args.join(' ')).not.toMatch(missing)
    expect((await run('accounts', 'show', 'ann', '--json')).stdout).toContain('"disabled": true')
  })

  it('imports no account with an authenticator app that nobody could check', async () => {
    await cli.write('apps.jsonl', '{"username":"bea","totp_secret":"JBSWY3DPEHPK3PXP"}\n')
    const { code, stderr } = await run('accounts', 'import', 'apps.jsonl')
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('there is no `sealing_key`') })
  })

  it('is not enough for a check of the configuration', async () => {
    expect((await run('check')).stderr + (await run('check')).stdout).toMatch(missing)
  })
})
