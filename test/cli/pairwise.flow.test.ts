import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createSubjects } from '../../core/oauth/subjects/subjects.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { jsonAnswer, openSite, type Site } from '../support/server/site.js'

const key = 'a pairwise key of more than 32 bytes, for tests'
const configured = (pairwiseKey: string) =>
  configuration(`
pairwise_key: ${pairwiseKey}
outbound: { allow_private_addresses: true }
accounts: [{ username: alice, password: correct horse battery, sub: local-alice }]
clients:
  - { client_id: shop, client_secret: shop-secret-of-more-than-256-bits-for-tests, grant_types: [client_credentials], scope: api, redirect_uris: [https://shop.example/cb], subject_type: pairwise }`)

describe('signet, with pairwise subjects', () => {
  let cli: CommandLine
  let site: Site
  beforeAll(async () => {
    ;[cli, site] = [await openCommandLine(), await openSite()]
    await cli.write('signet.yaml', configured(key))
    // A start remembers the key.
    const service = await cli.serve(['start', '--config', 'signet.yaml'])
    service.child.kill('SIGTERM')
    await service.ended
  })
  afterAll(async () => {
    await site[Symbol.asyncDispose]()
    await cli[Symbol.asyncDispose]()
  })
  const run = (...args: string[]) => cli.run([...args, '--config', 'signet.yaml'])

  it('finds the person behind a subject that a client reports, and records the search', async () => {
    const client = { client_id: 'shop', redirect_uris: ['https://shop.example/cb'], subject_type: 'pairwise' } as const
    await cli.run(['accounts', 'add', 'bob', '--sub', 'local-bob', '--password-stdin', '--config', 'signet.yaml'], {
      input: 'another battery staple',
    })
    const seen = createSubjects(key).seenBy(client, 'local-bob')
    expect(await run('people', 'subject', '--client', 'shop', '--sub', 'local-bob')).toMatchObject({
      stdout: `${seen}\n`,
    })
    const found = await run('people', 'find', '--client', 'shop', '--sub', seen, '--json')
    expect(JSON.parse(found.stdout)).toEqual({ sub: 'local-bob', username: 'bob' })
    const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
    expect(audit).toContain(`"action":"person.find","client_id":"shop","pairwise_sub":"${seen}"`)
    expect(await run('people', 'find', '--client', 'shop', '--sub', 'local-bob')).toMatchObject({ code: 1, stdout: '' })
  })

  it('fetches the sector document when a client is added or changed', async () => {
    const metadata = {
      redirect_uris: ['https://a.example/cb', 'https://b.example/cb'],
      subject_type: 'pairwise',
      sector_identifier_uri: `${site.url}/uris.json`,
    }
    await cli.write('client.json', JSON.stringify(metadata))
    const add = () => run('clients', 'add', '--client-id', 'group', '--file', 'client.json')
    site.answer = jsonAnswer(metadata.redirect_uris.slice(1))
    expect(await add()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('sector_identifier_uri: must list every redirect URI') as string,
    })
    site.answer = jsonAnswer(metadata.redirect_uris)
    expect(await add()).toMatchObject({ code: 0 })
    const further = metadata.redirect_uris.flatMap((uri) => ['--redirect-uri', uri])
    const update = () => run('clients', 'update', 'group', ...further, '--redirect-uri', 'https://c.example/cb')
    expect(await update()).toMatchObject({ code: 1 })
  })

  it('PW09 refuses a start, and a search, with another key', async () => {
    await cli.write('other.yaml', configured(`${key} changed`))
    const started = await cli.run(['start', '--config', 'other.yaml'], { alone: true })
    expect(started).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('pairwise_key: is another one than before') as string,
    })
    const found = await cli.run(['people', 'find', '--client', 'shop', '--sub', 'x', '--config', 'other.yaml'])
    expect(found).toMatchObject({ code: 1, stderr: expect.stringContaining('not the one') as string })
  })
})
