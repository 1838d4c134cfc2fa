import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { collectionsOf } from '../support/forge/mint.js'
import { newAssertionKey } from '../support/clients/client-assertion.js'
import { openClientCommands, type ClientCommands } from '../support/server/client-commands.js'
import { requestToken } from '../support/server/command-line.js'

let host: ClientCommands
let { cli, service, clients } = {} as ClientCommands
beforeAll(async () => {
  host = await openClientCommands()
  ;({ cli, service, clients } = host)
})
afterAll(() => host[Symbol.asyncDispose]())

const everythingIn = async (folder: string): Promise<Buffer> => {
  const files = await readdir(folder, { recursive: true, withFileTypes: true })
  const contents = files.filter((file) => file.isFile()).map((file) => readFile(join(file.parentPath, file.name)))
  return Buffer.concat(await Promise.all(contents))
}

describe('signet clients, while the service runs', () => {
  it('adds a client that gets a token at once, and removes it', async () => {
    const added = await clients('add', '--grant-type', 'client_credentials', '--scope', 'api', '--json')
    expect({ code: added.code, stderr: added.stderr }).toEqual({ code: 0, stderr: '' })
    const { client_id: id, client_secret: secret } = JSON.parse(added.stdout)
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect((await requestToken(service, id, secret)).status).toBe(200)
    expect((await requestToken(service, id, `${secret}x`)).status).toBe(401)

    const stored = await everythingIn(join(cli.folder, 'data'))
    expect(stored.includes(id)).toBe(true)
    expect(stored.includes(secret)).toBe(false)

    expect(await clients('remove', id)).toMatchObject({ code: 0, stdout: `Removed ${id}\n` })
    expect((await requestToken(service, id, secret)).status).toBe(401)
    expect(await clients('remove', id)).toMatchObject({ code: 1, stderr: 'There is no such client in the store.\n' })
    const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
    for (const action of ['client.add', 'client.remove']) {
      expect(audit).toContain(`"event":"administration","action":"${action}","client_id":"${id}"`)
    }
  })

  it('warns about each key that it does not understand, and adds the client', async () => {
    const keys = [{ kty: 'AKP', alg: 'ML-DSA-44', pub: 'AAAA', kid: 'pq' }, newAssertionKey('ES256', 'own').publicJwk]
    const signing = { grant_types: ['client_credentials'], scope: 'api' }
    await cli.write('keyed.json', JSON.stringify({ client_id: 'keyed', ...signing, jwks: { keys } }))
    const added = await clients('add', '--file', join(cli.folder, 'keyed.json'))
    expect(added).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^warning: jwks\.keys\[0\].* is ignored.*\n$/) as string,
    })
    expect(await clients('remove', 'keyed')).toMatchObject({ code: 0 })
  })

  it('shows a client without its secret', async () => {
    const { stdout } = await clients(
      'add',
      '--client-id',
      'shop',
      '--name',
      'Shop',
      '--redirect-uri',
      'https://shop.example/cb',
    )
    const secret = /client_secret +(\S+)/.exec(stdout)![1]!
    const yaml = await clients('show', 'shop')
    const json = await clients('show', 'shop', '--json')
    const list = await clients('list', '--json')
    expect(JSON.parse(json.stdout)).toMatchObject({
      source: 'store',
      client_id: 'shop',
      client_name: 'Shop',
      redirect_uris: ['https://shop.example/cb'],
      grant_types: ['authorization_code'],
      client_secret_sha256: '[secret]',
    })
    expect(yaml.stdout).toContain('client_id: shop\n')
    const hash = Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(secret))).toString('base64url')
    for (const shown of [yaml.stdout, json.stdout, list.stdout]) {
      expect(shown).not.toContain(secret)
      expect(shown).not.toContain(hash)
    }
    expect(await clients('show', 'nobody')).toMatchObject({ code: 1, stdout: '', stderr: 'There is no such client.\n' })
  })

  it('reads metadata from a file, and options override it', async () => {
    const metadata = {
      client_name: 'File',
      token_endpoint_auth_method: 'none',
      redirect_uris: ['https://a.example/cb'],
    }
    await cli.write('client.json', JSON.stringify(metadata))
    const added = await clients('add', '--file', 'client.json', '--client-id', 'from-file', '--name', 'Line')
    expect(added).toMatchObject({ code: 0, stdout: 'client_id      from-file\n' })
    expect(JSON.parse((await clients('show', 'from-file', '--json')).stdout)).toMatchObject({
      client_name: 'Line',
      token_endpoint_auth_method: 'none',
    })
    await cli.write('broken.json', '{')
    expect(await clients('add', '--file', 'broken.json')).toMatchObject({
      code: 1,
      stderr: 'broken.json is not JSON\n',
    })
  })

  it('lists those of the configuration and of the store', async () => {
    const { stdout } = await clients('list')
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/))
    expect(rows[0]).toEqual(['CLIENT_ID', 'NAME', 'SOURCE', 'STATE', 'AUTHENTICATION', 'GRANTS', 'LAST USED'])
    const known = rows.map((row) => row.slice(0, 6))
    expect(known).toContainEqual(['teller', '-', 'configuration', 'active', 'client_secret', 'client_credentials'])
    expect(known).toContainEqual(['shop', 'Shop', 'store', 'active', 'client_secret', 'authorization_code'])
  })

  it('refuses an id that already exists, in the store or in the configuration', async () => {
    const add = (id: string) => clients('add', '--client-id', id, '--grant-type', 'client_credentials')
    expect(await add('once')).toMatchObject({ code: 0 })
    expect(await add('once')).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('in the store') })
    expect(await add('teller')).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('configuration') })
    expect(await clients('remove', 'teller')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('remove it there'),
    })
    expect((await requestToken(service, 'teller', 'teller-secret-of-more-than-256-bits-for-tests')).status).toBe(200)
  })

  it('reports all metadata that would not work here, and stores nothing', async () => {
    const refused = await clients(
      ...(['add', '--client-id', 'bad', '--grant-type', 'client_credential', '--scope', 'apis'] as const),
      ...['--auth-method', 'spiffe_jwt', '--redirect-uri', 'https://shop.example/cb'],
    )
    expect({ code: refused.code, stdout: refused.stdout }).toEqual({ code: 1, stdout: '' })
    expect(refused.stderr.trimEnd().split('\n').sort()).toEqual([
      expect.stringMatching(/^grant_types\[0\]: .*did you mean `client_credentials`/),
      expect.stringMatching(/^scope: apis .*did you mean `api`/),
      expect.stringMatching(/^token_endpoint_auth_method: /),
    ])
    expect(await clients('add', '--redirect-uri', 'http://shop.example/cb')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^redirect_uris\[0\]: must be https/),
    })
    expect(await clients('show', 'bad')).toMatchObject({ code: 1 })
  })

  it('LG08 refuses the sub of a person as client_id, and the id of a client as sub', async () => {
    const account = (sub: string) =>
      cli.run(['accounts', 'add', `person-${sub}`, '--sub', sub, '--password-stdin', '--config', 'signet.yaml'], {
        input: 'correct horse battery',
      })
    const client = (id: string) => clients('add', '--client-id', id, '--grant-type', 'client_credentials')
    expect(await account('sub-1')).toMatchObject({ code: 0 })
    expect(await client('sub-1')).toMatchObject({ code: 1, stderr: expect.stringContaining('subject of a person') })
    expect(await clients('show', 'sub-1')).toMatchObject({ code: 1 })
    expect(await client('id-1')).toMatchObject({ code: 0 })
    for (const id of ['id-1', 'teller'])
      expect(await account(id)).toMatchObject({ code: 1, stderr: expect.stringContaining('client with this id') })
    expect((await cli.run(['accounts', 'list', '--config', 'signet.yaml'])).stdout).not.toContain('person-id-1')
  })

  it('CA30 refuses a short secret of a file, and warns of one that should be longer', async () => {
    const add = async (clientId: string, client_secret: string) => {
      await cli.write('weak.json', JSON.stringify({ client_secret, grant_types: ['client_credentials'], scope: 'api' }))
      return clients('add', '--file', 'weak.json', '--client-id', clientId)
    }
    expect(await add('weak', 'fifteen letters')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^client_secret: must be 16 to 1024/),
    })
    expect(await clients('show', 'weak')).toMatchObject({ code: 1 })
    expect(await add('fair', 'sixteen letters.')).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^warning: client_secret: should have at least 32/),
    })
    expect((await requestToken(service, 'fair', 'sixteen letters.')).status).toBe(200)
  })

  it('escapes terminal control sequences', async () => {
    const name = '\u001b]0;owned\u0007\u202eShop\u200b\u{e0041}'
    await clients('add', '--client-id', 'odd', '--name', 'Shop', '--grant-type', 'client_credentials')
    expect(await clients('add', '--client-id', 'hidden', '--name', 'Shop\u200b')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('client_name: must have no invisible characters'),
    })
    // An earlier version took it.
    {
      await using backend = await openEmbedded({ path: join(cli.folder, 'data', 'store'), clock: Date.now })
      const { clients: stored } = collectionsOf(backend)
      await stored.put('odd', { ...(await stored.find('odd'))!, client_name: name })
    }
    for (const [command, ...args] of [['list'], ['list', '--json'], ['show', 'odd'], ['show', 'odd', '--json']]) {
      const { stdout } = await clients(command!, ...args)
      expect(stdout).toContain('odd')
      expect(stdout.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202e\u200b\u{e0041}]/u)
    }
    expect(JSON.parse((await clients('show', 'odd', '--json')).stdout).client_name).toBe(name)
  })
})
