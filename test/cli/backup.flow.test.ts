import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, chmod, mkdir, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { codeBlock } from '../support/document.js'
import { configuration, openCommandLine, requestToken, type CommandLine } from '../support/server/command-line.js'

const addClient = async (cli: CommandLine, id: string): Promise<string> => {
  const args = ['clients', 'add', '--config', 'signet.yaml', '--client-id', id, '--grant-type', 'client_credentials']
  const { code, stdout } = await cli.run([...args, '--json'])
  expect(code).toBe(0)
  return (JSON.parse(stdout) as { client_secret: string }).client_secret
}

const clients = `
clients:
  - { client_id: page, token_endpoint_auth_method: none, redirect_uris: [https://page.example/cb] }
rate_limits: { authorize: { address_per_minute: 10000000 } }`

it('the embedded store is copied while it is written to, and restored, as docs/storage.md says', async () => {
  await using cli = await openCommandLine()
  await cli.write('signet.yaml', configuration(clients))
  await cli.write('backup.mjs', codeBlock('docs/storage.md', 'backup.mjs'))
  await symlink(join(packageRoot, 'node_modules'), join(cli.folder, 'node_modules'))
  const service = await cli.serve(['start', '--config', 'signet.yaml'])
  const secret = await addClient(cli, 'before')

  let writing = true
  let written = 0
  const ask = new URLSearchParams({
    client_id: 'page',
    response_type: 'code',
    redirect_uri: 'https://page.example/cb',
    scope: 'openid',
    code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
    code_challenge_method: 'S256',
  })
  const write = async () => {
    while (writing) {
      // Each begins a sign-in, which is a record.
      const { status } = await fetch(`${service.public}/authorize?${ask}`, { redirect: 'manual' })
      expect(status).toBe(303)
      written++
    }
  }
  const writers = [write(), write()]
  await mkdir(join(cli.folder, 'backup'), { mode: 0o700 })
  await expect.poll(() => written).toBeGreaterThan(20)
  const copying = spawn(process.execPath, ['backup.mjs'], { cwd: cli.folder, stdio: 'inherit' })
  const before = written
  expect(await once(copying, 'exit')).toEqual([0, null])
  expect(written).toBeGreaterThan(before)
  writing = false
  await Promise.all(writers)
  await addClient(cli, 'after')
  service.child.kill('SIGTERM')
  expect(await service.ended).toBe(0)

  const store = join(cli.folder, 'data', 'store')
  await rename(store, join(cli.folder, 'lost'))
  await mkdir(store, { mode: 0o700 })
  await cp(join(cli.folder, 'backup', 'data.mdb'), join(store, 'data.mdb'))
  await chmod(join(store, 'data.mdb'), 0o600)

  const restored = await cli.serve(['start', '--config', 'signet.yaml'])
  expect((await requestToken(restored, 'before', secret)).status).toBe(200)
  const { stdout } = await cli.run(['clients', 'list', '--config', 'signet.yaml', '--json'])
  expect((JSON.parse(stdout) as { client_id: string }[]).map(({ client_id }) => client_id)).toEqual(['page', 'before'])
})
