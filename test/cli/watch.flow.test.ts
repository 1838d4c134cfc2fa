import { mkdir, rename, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { configuration, openCommandLine } from '../support/server/command-line.js'

const plugin = (name: string) =>
  `export default { name: '${name}', apiVersion: 1, needs: ['log'], create: (_, { log }) => (log.info('${name}'), {}) }`

it('signet start --watch restarts when the configuration, its base or a plugin beside it changes', async () => {
  await using cli = await openCommandLine()
  await cli.write('package.json', '{"type":"module"}')
  await cli.write('plugin.js', plugin('first'))
  await cli.write('base.yaml', configuration('  - use: ./plugin.js'))
  await cli.write('signet.yaml', 'extends: base.yaml')
  const launched = cli.launch(['start', '--watch', '--config', 'signet.yaml'])
  await launched.started
  await launched.printed('"msg":"first"')

  await cli.write('plugin.js', plugin('second'))
  await launched.printed('"msg":"second"')
  const started = () => launched.output().match(/"msg":"started"/g)?.length
  await expect.poll(started, { timeout: 20_000 }).toBe(2)

  await cli.write('base.yaml', configuration('  - use: ./plugin.js').replace('scopes_supported', 'scope_supported'))
  await expect.poll(launched.output, { timeout: 20_000 }).toContain('It starts again when a file changes.')
  expect(launched.output()).toContain('did you mean `scopes_supported`')
  // What the service itself writes is no change.
  await cli.write('audit.log', 'x')
  await cli.write('base.yaml', configuration('  - use: ./plugin.js'))
  await expect.poll(started, { timeout: 20_000 }).toBe(3)

  launched.child.kill('SIGTERM')
  expect(await launched.ended).toBe(0)
  expect(launched.output().match(/A file has changed/g)).toHaveLength(3)
})

it('signet start --watch ends its service when it is killed', async () => {
  await using cli = await openCommandLine()
  await cli.write('signet.yaml', configuration())
  const launched = cli.launch(['start', '--watch', '--config', 'signet.yaml'])
  const { public: origin } = await launched.started
  launched.child.kill('SIGKILL')
  // Its output is open for as long as the service has it.
  await launched.ended
  await expect
    .poll(() =>
      fetch(`${origin}/jwks.json`).then(
        ({ status }) => status,
        () => 'closed',
      ),
    )
    .toBe('closed')
  expect(launched.output()).toContain('"msg":"stopped"')
})

it('signet start --watch notices the symbolic link that Kubernetes replaces in a mounted ConfigMap', async () => {
  await using cli = await openCommandLine()
  const text = configuration()
  for (const name of ['..2026_1', '..2026_2']) await mkdir(join(cli.folder, name))
  await cli.write('..2026_1/signet.yaml', text)
  await cli.write('..2026_2/signet.yaml', text.replace('level: info', 'level: debug'))
  await symlink('..2026_1', join(cli.folder, '..data'))
  await symlink(join('..data', 'signet.yaml'), join(cli.folder, 'signet.yaml'))
  const launched = cli.launch(['start', '--watch', '--config', 'signet.yaml'])
  await launched.started
  await symlink('..2026_2', join(cli.folder, '..data_tmp'))
  await rename(join(cli.folder, '..data_tmp'), join(cli.folder, '..data'))
  await expect.poll(() => launched.output().match(/"msg":"started"/g)?.length, { timeout: 20_000 }).toBe(2)
  launched.child.kill('SIGTERM')
  expect(await launched.ended).toBe(0)
})
