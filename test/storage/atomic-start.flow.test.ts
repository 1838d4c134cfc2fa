import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

// A store whose single steps are not atomic would redeem one code several times. Signet finds that out before it serves.

const adapter = fileURLToPath(new URL('../support/stores/hasty-adapter.js', import.meta.url))

const faults = [
  ['records', 'redeem', 'redeemed one code'],
  ['records', 'rotate', 'rotated one refresh token'],
  ['records', 'put', 'wrote one record as its first'],
  ['records', 'update', 'changed one state of a record'],
  ['ephemeral', 'redeem', 'redeemed one record'],
  ['ephemeral', 'claim', 'claimed one id'],
  ['ephemeral', 'count', 'began one count'],
] as const

describe('a store that is asked to prove that it is atomic', () => {
  let cli: CommandLine
  beforeEach(async () => {
    cli = await openCommandLine()
  })
  afterEach(() => cli[Symbol.asyncDispose]())

  const write = (role: string, verb: string) => {
    const hasty = `{ use: ${adapter}, options: { path: ./data/hasty, verb: ${verb} } }`
    const embedded = '{ use: embedded }'
    const [records, ephemeral] = role === 'records' ? [hasty, embedded] : [embedded, hasty]
    const stores = `storage: { records: ${records}, ephemeral: ${ephemeral} }\n`
    return cli.write('signet.yaml', configuration(`audit: { file: ./audit.jsonl }\n${stores}`))
  }

  it.each(faults)('in the role %s with a hasty %s: start and doctor refuse it', async (role, verb, what) => {
    await write(role, verb)
    const refused = new RegExp(
      `storage\\.${role}(\\.atomic)?: is not atomic: [2-8] of 8 callers ${what}, which one alone`,
    )
    const doctor = await cli.run(['doctor', '--config', 'signet.yaml'])
    expect(doctor.code).toBe(1)
    expect(doctor.stderr).toMatch(refused)
    const started = await cli.run(['start', '--config', 'signet.yaml'])
    expect(started.code).toBe(1)
    expect(started.stdout + started.stderr).toMatch(refused)
  })

  it.each(['records', 'ephemeral'])(
    'in the role %s when it is: start serves, doctor says ok, nothing stays',
    async (role) => {
      await write(role, 'none')
      const service = await cli.serve(['start', '--config', 'signet.yaml'])
      expect((await fetch(`${service.public}/jwks.json`)).status).toBe(200)
      service.child.kill('SIGTERM')
      expect(await service.ended).toBe(0)
      const doctor = await cli.run(['doctor', '--config', 'signet.yaml'])
      expect(doctor.stdout).toMatch(new RegExp(`^storage\\.${role}\\.atomic +[\\d.]+ ms +ok$`, 'm'))
      await using store = await openEmbedded({ path: `${cli.folder}/data/hasty`, clock: Date.now })
      expect(
        (await store.records('migrations').list(undefined, 10)).filter(({ id }) => id.startsWith('proof-')),
      ).toEqual([])
    },
  )
})
