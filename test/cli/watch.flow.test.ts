import { expect, it } from 'vitest'
import { configuration, openCommandLine } from '../support/server/command-line.js'

const plugin = (name: string) =>
  `export default { name: '${name}', apiVersion: 1, needs: ['log'], create: (_, { log }) => (log.info('${name}'), {}) }`

it('signet start --watch starts again when the configuration, its base or a plugin beside it changes', async () => {
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
