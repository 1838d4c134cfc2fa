import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
})
afterAll(() => cli[Symbol.asyncDispose]())

const fixed = '{ kid: ed-1, alg: EdDSA, signer: local, ref: ed-1 }'
const slot = '{ slot: ed, alg: EdDSA, signer: local }'
const withKeys = (...entries: string[]): string =>
  configuration().replace(/^keys:\n.*\n/m, `keys:\n${entries.map((entry) => `  - ${entry}\n`).join('')}`)

const kidsOf = async (service: Service): Promise<string[]> => {
  const { keys } = await (await fetch(new URL('/jwks.json', service.public))).json()
  return keys.map(({ kid }: { kid: string }) => kid)
}

it('a fixed key is adopted by a slot and taken back into the file, and is published all the while', async () => {
  const own = fixed.replaceAll('ed-1', 'ed-2026-11')
  const run = (...args: string[]) => cli.run(['keys', ...args, '--config', 'slots.yaml'])
  const reload = async (...entries: string[]) => {
    await cli.write('slots.yaml', withKeys(...entries))
    // The port is the system's choice, so the command does not know it.
    const answer = await fetch(new URL('/reload', service.admin), { method: 'POST' })
    return { status: answer.status, body: await answer.json() }
  }
  await cli.write('slots.yaml', withKeys(own))
  const service = await cli.serve(['start', '--config', 'slots.yaml'])
  await cli.write('slots.yaml', withKeys(own, slot))
  expect(await run('adopt', '--slot', 'de', '--kid', 'ed-2026-11')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('Did you mean ed?'),
  })
  expect(await run('adopt', '--slot', 'ed', '--kid', 'ed-2026-11')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('Adopted ed-2026-11'),
  })
  await cli.write('slots.yaml', withKeys(own, slot))
  expect((await run('plan')).stderr).toContain(
    'ed-2026-11 stands before the slot ed and signs for ever in its place: the slot has adopted it: remove its entry',
  )
  expect(await reload(slot)).toMatchObject({ status: 200, body: { status: 'reloaded' } })
  expect(await kidsOf(service)).toEqual(['ed-2026-11'])

  expect(await run('rotate', '--slot', 'ed', '--compromised', 'ed-2026-11')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--yes'),
  })
  expect(await run('rotate', '--slot', 'ed', '--json')).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"requested"'),
  })
  const released = await run('release', '--slot', 'ed')
  expect(released).toMatchObject({ code: 0, stderr: expect.stringContaining('Released.') })
  expect(parse(released.stdout)).toMatchObject([
    { kid: 'ed-2026-11', ref: 'ed-2026-11', signer: 'local', not_before: expect.any(String) },
  ])
  const entries = (parse(released.stdout) as object[]).map((entry) => JSON.stringify(entry))
  expect(await reload(...entries)).toMatchObject({ status: 200, body: { status: 'reloaded' } })
  expect(await kidsOf(service)).toEqual(['ed-2026-11'])
  service.child.kill('SIGTERM')
  expect(await service.ended).toBe(0)
})
