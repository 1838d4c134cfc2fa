import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { applyDesired } from '../../core/administration/apply-desired.js'
import { localOperator } from '../../core/operators/operator.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { startOperatorServer, type AskApi, type OperatorServer } from '../support/server/operator-server.js'

let server: OperatorServer
let operator: AskApi
let commands: CommandLine
beforeAll(async () => {
  server = await startOperatorServer()
  operator = await server.as('operator')
  commands = await openCommandLine()
  const shop = { client_id: 'shop', client_name: 'Shop', redirect_uris: ['https://shop.example/cb'] }
  const odd = { client_id: 'https://RP.example/a b', grant_types: ['client_credentials'], redirect_uris: [] }
  for (const body of [shop, odd]) expect((await operator('/clients', { method: 'POST', body })).status).toBe(201)
  const ada = { name: 'ada', roles: ['auditor', 'support'] }
  expect((await operator('/operators', { method: 'POST', body: ada })).status).toBe(201)
})
afterAll(async () => {
  await commands[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const folder = (name: string): string => join(commands.folder, name)
const run = (...args: string[]) => commands.run([...args, '--config', join(server.directory, 'signet.yaml')])
const plan = async (name: string, ...more: string[]) => {
  const { code, stdout, stderr } = await run('plan', '-f', folder(name), '--json', '--exit-code', ...more)
  return { code, steps: stdout === '' ? stderr : (JSON.parse(stdout) as unknown) }
}

const patch = async (path: string, body: object): Promise<void> => {
  const etag = (await operator(path)).headers.get('etag')!
  expect((await operator(path, { method: 'PATCH', body, headers: { 'If-Match': etag } })).status).toBe(200)
}

it('what was exported and then changed by hand is shown exactly, and taken back', async () => {
  const exported = await run('export', folder('objects'))
  expect(exported).toMatchObject({ code: 0 })
  expect((await readdir(folder('objects/clients'))).length).toBe(2)
  const files = await Promise.all(
    (await readdir(folder('objects'), { recursive: true, withFileTypes: true }))
      .filter((one) => one.isFile())
      .map((one) => readFile(join(one.parentPath, one.name), 'utf8')),
  )
  expect(files.join('')).not.toMatch(/secret_sha256|client_secret:|\[secret\]|\ncredentials/)
  expect(await plan('objects')).toEqual({ code: 0, steps: [] })
  expect((await run('export', folder('objects'))).code).toBe(1)

  await patch('/clients/shop', { client_name: 'Changed', contacts: ['ops@shop.example'] })
  await patch('/operators/ada', { roles: ['operator'] })
  const extra = { client_id: 'extra', grant_types: ['client_credentials'], redirect_uris: [] }
  await operator('/clients', { method: 'POST', body: extra })
  expect(await plan('objects')).toEqual({
    code: 3,
    steps: [
      expect.objectContaining({
        ...{ action: 'update', kind: 'client', id: 'shop' },
        ...{ before: { client_name: 'Changed', contacts: ['ops@shop.example'] }, after: { client_name: 'Shop' } },
      }),
      expect.objectContaining({
        ...{ action: 'update', kind: 'operator', id: 'ada' },
        ...{ before: { roles: ['operator'] }, after: { roles: ['auditor', 'support'] } },
      }),
      expect.objectContaining({ action: 'unmanaged', kind: 'client', id: 'extra' }),
    ],
  })
  const shown = await run('plan', '-f', folder('objects'))
  expect(shown.stdout).toContain(
    '~ client shop\n    client_name: "Changed" → "Shop"\n    contacts: ["ops@shop.example"] → (absent)',
  )

  expect((await run('apply', '-f', folder('objects'))).stdout).toContain('2 changed')
  expect((await operator('/clients/shop')).body).toMatchObject({ client_name: 'Shop', has_secret: true })
  expect((await operator('/clients/shop')).body.contacts).toBeUndefined()
  expect((await operator('/clients/extra')).status).toBe(200)
  expect((await run('apply', '-f', folder('objects'), '--prune')).stdout).toContain('- client extra')
  expect((await operator('/clients/extra')).status).toBe(404)
  expect(await plan('objects')).toEqual({ code: 0, steps: [] })
  const lines = (await server.audit()).filter(
    ({ event, by }) => event === 'administration' && (by as Record<string, unknown>)['via'] === 'command',
  )
  expect(lines.map(({ action }) => action)).toEqual(
    expect.arrayContaining(['client.update', 'operator.update', 'client.remove']),
  )
})

it('what has a file alone is created, with a secret that is shown once, from one file or several', async () => {
  await mkdir(folder('new'), { recursive: true })
  const till = { kind: 'client', client_id: 'till', grant_types: ['client_credentials'], redirect_uris: [] }
  const bob = { kind: 'operator', name: 'bob', roles: ['viewer'] }
  await writeFile(folder('new/all.json'), JSON.stringify([till, bob]))
  await writeFile(
    folder('new/spa.yml'),
    'kind: client\nclient_id: spa\ntoken_endpoint_auth_method: none\nredirect_uris: [https://spa.example/cb]\n---\n',
  )
  const { stdout, code } = await run('apply', '-f', folder('new'), '--json')
  expect(code).toBe(0)
  const { done } = JSON.parse(stdout) as { done: readonly { id: string; client_secret?: string }[] }
  expect(done.map(({ id, client_secret }) => [id, typeof client_secret])).toEqual([
    ['till', 'string'],
    ['bob', 'undefined'],
    ['spa', 'undefined'],
  ])
  expect(await plan('new')).toMatchObject({ code: 0 })
})

it('AD64 files with faults change nothing, and each fault is named', async () => {
  await mkdir(folder('bad'), { recursive: true })
  const files = {
    'secret.yaml': 'kind: client\nclient_id: a\nclient_secret: x\nredirect_uris: []\n',
    'kind.yaml': 'kind: person\nsub: a\n',
    'text.yaml': 'hello\n',
    'member.yaml': 'kind: client\nclient_id: b\nredirect_urls: []\n',
    'twice.yaml': 'kind: operator\nname: eve\nroles: [viewer]\n---\nkind: operator\nname: eve\nroles: [operator]\n',
    'configured.yaml': 'kind: client\nclient_id: web\nredirect_uris: [https://web.example/cb]\n',
    'extra.yaml': 'kind: operator\nname: eva\nroles: [viewer]\ncredentials: []\n',
    'good.yaml': 'kind: operator\nname: good\nroles: [viewer]\n',
  }
  for (const [name, text] of Object.entries(files)) await writeFile(folder(`bad/${name}`), text)
  const refused = await run('apply', '-f', folder('bad'))
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  for (const name of Object.keys(files).filter((one) => one !== 'good.yaml')) expect(refused.stderr).toContain(name)
  expect((await operator('/operators/good')).status).toBe(404)
  for (const [name, text] of [
    ['alias.yaml', 'a: &a [x]\nb: [*a, *a]\n'],
    ['broken.yaml', 'kind: [\n'],
    ['keys.yaml', 'kind: client\nkind: operator\n'],
  ] as const) {
    await rm(folder('bad'), { recursive: true })
    await mkdir(folder('bad'))
    await writeFile(folder(`bad/${name}`), text)
    expect(await run('plan', '-f', folder('bad'))).toMatchObject({ code: 1, stderr: expect.stringContaining(name) })
  }
  expect((await run('plan', '-f', folder('none'))).code).toBe(1)
  expect((await commands.run(['plan'])).code).toBe(2)
})

it('AD65 apply changes nothing that was changed since it was compared, and stops there', async () => {
  const { openTestRecords } = await import('../support/stores/test-stores.js')
  const { checkConfiguration } = await import('../../core/checks/check-configuration.js')
  const { loadPages } = await import('../../core/host/load-pages.js')
  const checked = await checkConfiguration(join(server.directory, 'signet.yaml'), process.env, loadPages)
  await using records = await openTestRecords(join(server.directory, 'store'), Date.now)
  const parts = {
    ...{ checked, config: checked.config, clock: Date.now, unrecorded: () => undefined },
    stores: { records, ephemeral: records } as never,
    audit: { record: () => Promise.resolve() },
  }
  const step = (id: string, etag: string) => ({
    ...{ action: 'update' as const, kind: 'client' as const, id, etag },
    ...{ before: { client_name: 'Shop' }, after: { client_name: 'Taken' } },
  })
  const stale = (await operator('/clients/shop')).headers.get('etag')!
  await patch('/clients/shop', { client_name: 'Faster' })
  const by = { via: 'command' } as const
  const other = (await operator('/clients/spa')).headers.get('etag')!
  const { done, stopped } = await applyDesired(parts, { by, issuer: localOperator }, [
    ...[step('spa', other), step('shop', stale), step('till', other)],
  ])
  expect(done.map(({ id }) => id)).toEqual(['spa'])
  expect(stopped).toMatchObject({ refused: 'changed_meanwhile', step: { id: 'shop' } })
  expect((await operator('/clients/shop')).body.client_name).toBe('Faster')
})
