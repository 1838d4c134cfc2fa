import { readFile } from 'node:fs/promises'
import { hostname, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { configuration, openCommandLine, requestToken, type CommandLine } from '../support/server/command-line.js'
import { freePort } from '../support/free-port.js'

let cli: CommandLine
beforeEach(async () => {
  cli = await openCommandLine()
})
afterEach(() => cli[Symbol.asyncDispose]())

const client =
  'clients: [{ client_id: svc, client_secret: svc-secret-of-more-than-256-bits-for-tests, grant_types: [client_credentials], scope: api }]\n'
const other = client.replace('svc,', 'other,')
const withKey = (line: string) => configuration(client).replace(/^keys:$/m, `keys:\n  - ${line}`)
const start = () => cli.serve(['start', '--config', 'signet.yaml'])
const stop = async (service: Awaited<ReturnType<typeof start>>) => {
  service.child.kill('SIGTERM')
  expect(await service.ended).toBe(0)
}
const publications = 60_000
/** Who made each configuration the one that serves. `sudo` may have started the tests. */
const loadedBy = async () => {
  const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
  const lines = audit
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, Record<string, unknown>>)
  return lines
    .filter((line) => (line['event'] as unknown) === 'configuration.loaded')
    .map(({ by }) => Object.fromEntries(Object.entries(by ?? {}).filter(([name]) => name !== 'sudo_user')))
}

describe('a restart', () => {
  it('holds back a key that relying parties cannot know yet, and reports until when', async () => {
    await cli.write('signet.yaml', configuration(client))
    await stop(await start())
    // The first start of all replicas is over.
    const { openEmbedded } = await import('../../stores/embedded/open-embedded.js')
    const store = await openEmbedded({ path: join(cli.folder, 'data', 'store'), clock: Date.now })
    const records = store.records<Record<string, number>>('key_publications')
    const known = await records.find('ed-1')
    const earlier = Date.now() - 2 * publications
    await records.put('ed-1', { ...known, first_published: earlier, may_sign_from: earlier })
    await store[Symbol.asyncDispose]()

    await cli.write('signet.yaml', withKey('{ kid: ed-2, alg: EdDSA, signer: local, ref: ed-2 }'))
    const service = await start()
    expect(service.output()).toMatch(/"path":"keys\[0\]\.not_before","message":"ed-2 may sign from \d{4}-/)
    const { keys } = await (await fetch(new URL('/jwks.json', service.public))).json()
    expect(keys.map(({ kid }: { kid: string }) => kid)).toEqual(['ed-2', 'ed-1'])
    const { access_token } = await (
      await requestToken(service, 'svc', 'svc-secret-of-more-than-256-bits-for-tests')
    ).json()
    expect(JSON.parse(atob(access_token.split('.')[0])).kid).toBe('ed-1')
    const plan = await cli.run(['keys', 'plan', '--config', 'signet.yaml'])
    expect(plan.stdout).toMatch(/^\d{4}-\S+ +ed-2 +next +active$/m)
    // It waits already: a reload changes nothing.
    expect(plan).toMatchObject({ code: 0, stderr: '' })
    await stop(service)
  })
})

describe('SIGHUP and signet reload', () => {
  it('reload the file; a bad one changes nothing and is reported in the log', async () => {
    await cli.write('signet.yaml', configuration(client))
    const service = await start()
    await cli.write('signet.yaml', configuration(other))
    service.child.kill('SIGHUP')
    await service.printed('The configuration was reloaded')
    expect((await requestToken(service, 'svc', 'svc-secret-of-more-than-256-bits-for-tests')).status).toBe(401)
    expect((await requestToken(service, 'other', 'svc-secret-of-more-than-256-bits-for-tests')).status).toBe(200)

    await cli.write('signet.yaml', configuration('clients: [{}]'))
    service.child.kill('SIGHUP')
    await service.printed('clients[0].client_id: ')
    expect((await requestToken(service, 'other', 'svc-secret-of-more-than-256-bits-for-tests')).status).toBe(200)
    expect((await loadedBy()).map(({ via, address }) => [via, address])).toEqual([
      ...[
        ['start', undefined],
        ['sighup', undefined],
      ],
    ])
    await stop(service)
  })

  it('goes through the admin listener by command', async () => {
    const port = await freePort()
    const on = (more: string) =>
      configuration(more).replace(/^admin: .*$/m, `admin: { host: 127.0.0.1, port: ${port}, token: admin-secret }`)
    await cli.write('signet.yaml', on(client))
    const reload = (...args: readonly string[]) => cli.run(['reload', '--config', 'signet.yaml', ...args])
    expect(await reload()).toMatchObject({ code: 1, stderr: expect.stringContaining('not responding') })
    const service = await start()
    expect(await reload()).toMatchObject({ code: 0, stdout: 'Configuration unchanged.\n' })
    await cli.write('signet.yaml', on(other))
    expect(await reload()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Reloaded\.\nclients:\n/) })
    await cli.write('signet.yaml', on(other).replaceAll('ed-1', 'ed-2'))
    const plan = await cli.run(['keys', 'plan', '--config', 'signet.yaml'])
    const refused = await reload()
    expect(refused).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/^keys\[0\]\.not_before: ed-2 may sign from /),
    })
    expect(refused.stdout).toMatch(/^keys: ed-1 has been removed/m)
    // The plan says what the reload says, within the first minute of a deployment too; only the clock has moved.
    const timeless = (text: string) => text.replaceAll(/ \(line \d+\)|\d\d:\d\d:\d\d(?:\.\d+)?Z/g, '')
    expect(plan.code).toBe(1)
    expect(timeless(plan.stderr).match(/(?<=a reload refuses this: ).*$/gm)).toEqual(
      timeless(refused.stdout).trimEnd().split('\n'),
    )
    await cli.write(
      'signet.yaml',
      on(other).replace(/kid: ed-1.*$/m, 'kid: ed-2, alg: EdDSA, signer: local, ref: ed-2, allow_early: true }'),
    )
    expect((await reload()).code).toBe(1)
    expect(await reload('--force')).toMatchObject({ code: 0, stderr: expect.stringContaining('warning: keys: ed-1') })
    const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
    expect(audit).toMatch(/"event":"configuration\.loaded".*"force":true/)
    expect(await loadedBy()).toEqual([
      { via: 'start', os_user: userInfo().username, host: hostname() },
      ...['', 'forced'].map(() => ({
        ...{ via: 'command', os_user: userInfo().username, host: hostname(), address: '127.0.0.1' },
      })),
    ])
    await stop(service)
  })
})
