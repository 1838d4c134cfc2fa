import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openApi } from '../../core/admin-api/routes.js'
import { operations } from '../../core/cli/remote/operations.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { openAll, withEverything } from '../support/server/opened.js'
import { startOperatorServer, type OperatorServer } from '../support/server/operator-server.js'
import { person, subject } from '../support/server/server.js'

const keep = disposeAfterAll()
let server: OperatorServer
let cli: CommandLine
let token: string
beforeAll(async () => {
  server = keep(await startOperatorServer({ configure: withEverything }))
  cli = keep(await openCommandLine())
  token = await server.issueToken('desk', ['operator'])
  const operator = await server.as('operator')
  for (const [username, claims] of [
    ['ann', { name: 'Ann Ames' }],
    ['ann.other', {}],
    ['Zoë', { groups: ['a', 'b'] }],
  ] as const)
    await operator('/people', {
      method: 'POST',
      body: { username, sub: `${username.replace('ë', 'e')}-1`, password: person.password, claims },
    })
})

const onStores = (...args: string[]) => cli.run([...args, '--config', join(server.directory, 'signet.yaml')])
const overApi = (...args: string[]) =>
  cli.run([...args, '--admin', server.admin], { env: { SIGNET_OPERATOR_TOKEN: token } })

/** Runs a command both ways, which must not differ, and returns the output. */
const both = async (...args: string[]) => {
  const [stored, remote] = [await onStores(...args), await overApi(...args)]
  expect(remote, args.join(' ')).toEqual(stored)
  return stored
}

describe('a command with --admin', () => {
  it('prints what it prints on the stores, as a table and as JSON', async () => {
    await openAll(server.issuer, person)
    await openAll(server.issuer, { ...person, username: 'ann' })
    for (const args of [
      ['accounts', 'list'],
      ['accounts', 'list', '--method', 'corp'],
      ['accounts', 'show', 'ANN'],
      ['accounts', 'show', 'zoë'],
      ['accounts', 'show', '--sub', subject],
      ['accounts', 'factors', 'ann'],
      ['sessions', 'list', '--sub', 'ann-1'],
      ['grants', 'list', '--sub', 'ann-1'],
      ['consents', 'list', '--sub', 'ann-1'],
    ])
      for (const more of [[], ['--json']]) {
        const { code, stdout } = await both(...args, ...more)
        expect({ args, code, isEmpty: stdout === '' }).toEqual({ args, code: 0, isEmpty: false })
      }
    expect((await overApi('sessions', 'list', '--sub', 'ann-1')).stdout).toMatch(/\bpwd\b/)
    expect(JSON.parse((await overApi('grants', 'list', '--sub', 'ann-1', '--json')).stdout)).not.toEqual([])
  })

  it('says what it says on the stores when nothing can be done', async () => {
    for (const args of [
      ['accounts', 'show', 'nobody'],
      ['accounts', 'show', '--sub', 'nobody-1'],
      ['accounts', 'factors', 'nobody'],
      ['accounts', 'remove-factor', 'totp', 'ann'],
      ['accounts', 'disable', 'nobody'],
      ['accounts', 'update', 'ann'],
      ['accounts', 'update', 'alice', '--claim', 'name=A'],
      ['accounts', 'update', 'ann', '--username', 'alice'],
      ['accounts', 'update', 'ann', '--username', 'ann.other'],
      ['accounts', 'update', 'nobody', '--claim', 'name=A'],
      ['accounts', 'recover', 'nobody'],
      ['accounts', 'export', '--subject', 'nobody-1'],
      ['sessions', 'end', '--sub', 'ann-1', '--sid', 'other'],
      ['sessions', 'end', '--sub', 'nobody-1'],
      ['consents', 'revoke', '--sub', 'nobody-1'],
      ['grants', 'revoke', '--sub', 'nobody-1'],
      ['people', 'end', '--sub', 'nobody-1'],
      ['people', 'erase', '--sub', subject],
      ['people', 'erase', '--sub', 'nobody-1'],
    ])
      expect({ args, code: (await both(...args)).code }).toEqual({ args, code: 1 })
  })

  it('changes what it changes on the stores', async () => {
    const disabled = await both('accounts', 'disable', 'Ann')
    expect(disabled).toMatchObject({ code: 0, stdout: expect.stringContaining('Disabled Ann') })
    expect((await onStores('accounts', 'show', 'ann', '--json')).stdout).toContain('"disabled": true')
    await both('accounts', 'enable', 'ann', '--json')
    await both('accounts', 'update', 'ann', '--claim', 'name=Ann B', '--unset', 'email', '--json')
    await overApi('accounts', 'update', 'ann', '--claim', 'secret_rank=1', '--username', 'ann.b')
    expect(JSON.parse((await onStores('accounts', 'show', 'ann.b', '--json')).stdout)).toMatchObject({
      claims: { name: 'Ann B', secret_rank: 1 },
    })
    const ends = [
      ['sessions', 'end', '--sub', 'ann.other-1'],
      ['grants', 'revoke', '--sub', 'ann.other-1', '--client', 'web'],
      ['consents', 'revoke', '--sub', 'ann.other-1', '--client', 'web'],
    ]
    await onStores('people', 'end', '--sub', 'ann.other-1')
    for (const args of ends) {
      await openAll(server.issuer, { ...person, username: 'ann.other' })
      const stored = await onStores(...args)
      await onStores('people', 'end', '--sub', 'ann.other-1')
      await openAll(server.issuer, { ...person, username: 'ann.other' })
      expect(await overApi(...args), args.join(' ')).toEqual(stored)
      await onStores('people', 'end', '--sub', 'ann.other-1')
      expect(stored.code).toBe(0)
    }
    await openAll(server.issuer, { ...person, username: 'ann.other' })
    expect(await overApi('people', 'end', '--sub', 'ann.other-1', '--json')).toMatchObject({ code: 0 })
    expect((await onStores('sessions', 'list', '--sub', 'ann.other-1', '--json')).stdout.trim()).toBe('[]')
    expect(await overApi('people', 'erase', '--sub', 'ann.other-1')).toMatchObject({ code: 0, stderr: '' })
    expect((await onStores('accounts', 'show', 'ann.other')).code).toBe(1)
  })

  it('is done by the operator of the token, with that role alone', async () => {
    const support = await server.issueToken('helper', ['support'])
    const run = (...args: string[]) =>
      cli.run([...args, '--admin', server.admin], { env: { SIGNET_OPERATOR_TOKEN: support } })
    expect(await run('accounts', 'disable', 'zoë')).toMatchObject({ code: 0 })
    const lines = await server.audit()
    expect(
      lines.filter(({ event, action }) => event === 'administration' && action === 'account.disable').at(-1),
    ).toMatchObject({
      by: expect.objectContaining({ operator: 'helper' }),
    })
    const refused = await run('accounts', 'update', 'zoë', '--claim', 'name=Z')
    expect(refused).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^[A-Z][^\n]*\.\n$/) })
  })
})

describe('--admin', () => {
  const env = (more: NodeJS.ProcessEnv) => ({ env: { SIGNET_OPERATOR_TOKEN: token, ...more } })
  const list = ['accounts', 'list']

  it('may be in the environment, where the command line counts first', async () => {
    const named = await cli.run(list, env({ SIGNET_ADMIN_URL: server.admin, SIGNET_CONFIG: 'missing.yaml' }))
    expect(named).toMatchObject({ code: 0, stderr: `service: ${server.admin} (SIGNET_ADMIN_URL)\n` })
    const config = ['--config', join(server.directory, 'signet.yaml')]
    const stores = await cli.run([...list, ...config], env({ SIGNET_ADMIN_URL: 'http://127.0.0.1:1' }))
    expect(stores).toMatchObject({ code: 0, stderr: '' })
    expect(await cli.run(list, env({ SIGNET_ADMIN_URL: '' }))).toMatchObject({ code: 2 })
    const two = await cli.run([...list, ...config, '--admin', server.admin], env({}))
    expect(two).toMatchObject({ code: 2, stderr: expect.stringContaining('give --admin or --config') })
  })

  it('refuses addresses to which no token may go, and says which does not answer', async () => {
    for (const [address, sentence] of [
      ['http://idp.bank.example:3001', 'is https, except on this host'],
      ['http://127.0.0.1.bank.example', 'is https, except on this host'],
      ['https://ada:secret@idp.bank.example', 'no name, password, query or fragment'],
      ['ftp://idp.bank.example', 'is the https URL of an admin listener'],
      ['http://127.0.0.1:1', 'The service at http://127.0.0.1:1 does not answer'],
      ['./missing.sock', 'The service at ./missing.sock does not answer'],
      [server.issuer, 'The address is not one of an admin API'],
    ] as const) {
      const { code, stdout, stderr } = await cli.run([...list, '--admin', address], env({}))
      expect({ code, stdout, stderr }).toEqual({ code: 1, stdout: '', stderr: expect.stringContaining(sentence) })
      expect(stderr).not.toContain(token)
    }
    const without = await cli.run([...list, '--admin', server.admin], env({ SIGNET_OPERATOR_TOKEN: '' }))
    expect(without).toMatchObject({ code: 1, stderr: expect.stringContaining('SIGNET_OPERATOR_TOKEN') })
    const wrong = await cli.run([...list, '--admin', server.admin], env({ SIGNET_OPERATOR_TOKEN: `${token}x` }))
    expect(wrong).toMatchObject({ code: 1, stdout: '', stderr: expect.stringMatching(/^[A-Z][^\n]*\.\n$/) })
  })

  it('is refused in a sentence where the API has no counterpart', async () => {
    for (const args of [
      ['keys', 'list'],
      ['accounts', 'add', 'bob'],
      ['sessions', 'end', '--all'],
      ['grants', 'revoke', 'abc'],
    ]) {
      const { code, stderr } = await overApi(...args)
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^This works on the stores alone/) })
    }
  })

  it('goes over a socket, too', async () => {
    const path = join(cli.folder, 'admin.sock')
    const relay = createServer((request, response) => {
      const headers = { authorization: request.headers.authorization ?? '' }
      void fetch(`${server.admin}${request.url ?? ''}`, { headers }).then(async (answer) =>
        response.writeHead(answer.status).end(await answer.text()),
      )
    })
    await new Promise<void>((resolve) => relay.listen(path, resolve))
    afterAll(() => void relay.close())
    const stored = await onStores(...list)
    expect(await cli.run([...list, '--admin', path], env({}))).toEqual(stored)
  })

  it('calls operations that the API describes', () => {
    const { paths } = openApi() as unknown as { paths: Record<string, Record<string, { operationId: string }>> }
    for (const [name, { method, path }] of Object.entries(operations))
      expect(paths[path]?.[method.toLowerCase()]?.operationId, path).toBe(name)
  })
})
