import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { readiness } from '../support/server/workers.js'

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
})
afterAll(() => cli[Symbol.asyncDispose]())

/** Keys in files, which the second worker cannot open while the file `away` is there. */
const signer = `
import { existsSync } from 'node:fs'
import { Unavailable } from '${packageRoot}/dist/core/api/index.js'
import local from '${packageRoot}/dist/signers/local/index.js'

export default {
  ...local,
  async create(options, services) {
    const provider = await local.create(options, services)
    return {
      ...provider,
      async open(...asked) {
        if (process.env.SIGNET_WORKER === '2' && existsSync('away')) throw new Unavailable('signers.far', 'no', 'too far')
        return provider.open(...asked)
      },
    }
  },
}
`

it('a reload that fails in one worker is reported until another one succeeds', async () => {
  await cli.write('far.js', signer)
  await cli.write('away', '')
  const before = configuration('workers: 3\n').replace(
    'signers:',
    'signers:\n  far: { use: ./far.js, options: { directory: ./data/far, create: true } }',
  )
  await cli.write('signet.yaml', before)
  const service = await cli.serve(['start', '--config', 'signet.yaml'])
  const { port } = new URL(service.admin)
  const after = before.replace(
    'keys:',
    'keys:\n  - { kid: far-1, alg: ES256, signer: far, ref: far, allow_early: true }',
  )
  await cli.write('signet.yaml', after)
  await cli.write('admin.yaml', after.replace('admin: { host: 127.0.0.1, port: 0 }', `admin: { port: ${port} }`))
  const reload = () => cli.run(['reload', '--config', 'admin.yaml'])

  const apart = await reload()
  expect(apart).toMatchObject({ code: 1, stdout: expect.stringContaining('keys[0]: far-1 does not sign') })
  expect(apart.stderr).toContain('Some workers have the new configuration (1, 3), some do not (2). Reload again.')
  await expect
    .poll(() => readiness(service), { timeout: 30_000 })
    .toMatchObject({
      status: 'ready',
      components: { workers: { status: 'down', message: '2 of 3 have the new configuration' } },
    })

  await rm(join(cli.folder, 'away'))
  expect(await reload()).toMatchObject({ code: 0, stdout: expect.stringContaining('far-1') })
  await expect
    .poll(() => readiness(service), { timeout: 30_000 })
    .toMatchObject({ components: { workers: { status: 'up' } } })
  const again = await reload()
  expect(again).toMatchObject({ code: 0, stdout: expect.stringContaining('unchanged') })
  service.child.kill('SIGTERM')
  expect(await service.ended).toBe(0)
}, 120_000)
