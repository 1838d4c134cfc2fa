import { mkdtemp, readdir, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

const devices = `
  - { use: plugins/attestation/registry }
  - { use: plugins/attestation/approval }
  - { use: plugins/attestation/bootstrap }
registration: { mode: initial_access_token }
audit: { file: ./audit.jsonl }
`

let cli: CommandLine
let elsewhere: string
beforeAll(async () => {
  cli = await openCommandLine()
  elsewhere = await mkdtemp(join(tmpdir(), 'signet-store-'))
  await cli.write('signet.yaml', configuration(devices))
  // Records are there, and the other role is not.
  await cli.write(
    'apart.yaml',
    configuration(`storage:
  records: { use: embedded, options: { path: ${elsewhere} } }
  ephemeral: { use: embedded, options: { path: ./short } }
`),
  )
  await cli.write('records.yaml', configuration(`storage: ${sameStore(elsewhere)}`))
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  await rm(elsewhere, { recursive: true })
})

const sameStore = (path: string): string => {
  const store = `{ use: embedded, options: { path: ${path} } }`
  return `{ records: ${store}, ephemeral: ${store} }`
}

const phone = ['--subject', 'alice', '--principal-id', 'phone-1']
const person = ['--sub', 'alice']

describe('an embedded store that is not there', () => {
  it.each([
    [['clients', 'add', '--grant-type', 'client_credentials']],
    [['clients', 'list']],
    [['clients', 'show', 'shop']],
    [['clients', 'update', 'shop', '--name', 'Shop']],
    [['clients', 'rotate-secret', 'shop']],
    [['clients', 'disable', 'shop']],
    [['clients', 'remove', 'shop']],
    [['clients', 'remove', '--unused']],
    [['registrations', 'issue']],
    [['registrations', 'list']],
    [['registrations', 'revoke', 'token-1']],
    [['registrations', 'rotate-token', 'shop']],
    [['accounts', 'add', 'bob', '--password-stdin']],
    [['accounts', 'list']],
    [['accounts', 'show', 'bob']],
    [['accounts', 'set-password', 'bob', '--password-stdin']],
    [['accounts', 'update', 'bob', '--claim', 'name=Bob']],
    [['accounts', 'disable', 'bob']],
    [['accounts', 'enable', 'bob']],
    [['accounts', 'remove', 'bob']],
    [['accounts', 'recover', 'bob']],
    [['accounts', 'factors', 'bob']],
    [['accounts', 'remove-factor', 'totp', ...person]],
    [['sessions', 'list', ...person]],
    [['sessions', 'end', ...person]],
    [['sessions', 'end', '--all']],
    [['sessions', 'end', '--client', 'shop']],
    [['grants', 'list', ...person]],
    [['grants', 'revoke', ...person]],
    [['grants', 'revoke', 'grant-1']],
    [['consents', 'list', ...person]],
    [['consents', 'revoke', ...person]],
    [['people', 'end', ...person]],
    [['principals', 'list']],
    [['principals', 'show', ...phone]],
    [['principals', 'revoke', ...phone]],
    [['principals', 'restore', ...phone]],
    [['principals', 'release', ...phone]],
    [['principals', 'issue', '--kind', 'bootstrap_secret', ...phone]],
    [['principals', 'withdraw', '--kind', 'bootstrap_secret', ...phone]],
    [['principals', 'waiting']],
    [['principals', 'approve', 'enrolment-1']],
    [['principals', 'deny', 'enrolment-1']],
    [['principals', 'deny', '--all']],
  ])('%j prints its full path, and neither creates it nor records a change', async (args) => {
    const refused = await cli.run([...args, '--config', 'signet.yaml'], { input: 'correct horse battery\n' })
    const path = join(await realpath(cli.folder), 'data', 'store')
    expect(refused).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`storage.records: there is no store at ${path}.`),
    })
    expect(await readdir(cli.folder)).not.toEqual(expect.arrayContaining(['data']))
    expect(await readdir(cli.folder)).not.toEqual(expect.arrayContaining(['audit.jsonl']))
  })

  it('is refused if only one of two roles has its store', async () => {
    expect((await cli.run(['migrate', '--config', 'records.yaml'])).code).toBe(0)
    const refused = await cli.run(['clients', 'list', '--config', 'apart.yaml'])
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('storage.ephemeral: there is no store') })
    expect(await readdir(cli.folder)).not.toContain('short')
  })

  it('does not prevent `keys plan`', async () => {
    const { stderr } = await cli.run(['keys', 'plan', '--config', 'signet.yaml'])
    expect(stderr).not.toContain('storage.')
    expect(await readdir(cli.folder)).not.toContain('data')
  })

  it('is created by `migrate`, after which commands work', async () => {
    expect((await cli.run(['migrate', '--config', 'signet.yaml'])).code).toBe(0)
    expect(await cli.run(['clients', 'list', '--config', 'signet.yaml'])).toMatchObject({ code: 0 })
  })
})
