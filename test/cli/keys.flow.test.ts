import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

let cli: CommandLine
beforeAll(async () => {
  cli = await openCommandLine()
})
afterAll(() => cli[Symbol.asyncDispose]())

const iso = (fromNowSeconds: number) => new Date(Date.now() + fromNowSeconds * 1000).toISOString()
const signers = 'signers: { local: { use: signers/local, options: { directory: ./keys } } }\n'

describe('signet keys list', () => {
  it('shows states by the clock, without reading key files', async () => {
    const more = [
      `{ kid: soon, alg: ES256, signer: local, ref: soon, not_before: ${iso(3600)} }`,
      `{ kid: over, alg: ES256, signer: local, ref: over, not_after: ${iso(-60)}, purposes: [id_token] }`,
      `{ kid: past, alg: ES256, signer: local, ref: past, not_after: ${iso(-7200)}, purposes: [access_token] }`,
    ]
    await cli.write('states.yaml', configuration().replace(/^keys:\n/m, `keys:\n  - ${more.join('\n  - ')}\n`))
    const table = await cli.run(['keys', 'list', '--config', 'states.yaml'])
    expect({ code: table.code, stderr: table.stderr }).toEqual({ code: 0, stderr: '' })
    const [head, ...rows] = table.stdout.trimEnd().split('\n')
    expect(head).toMatch(/^KID {2,}ALG {2,}SIGNER {2,}REF {2,}STATE {2,}NOT BEFORE {2,}NOT AFTER {2,}PURPOSES$/)
    expect(rows.map((row) => row.split(/ {2,}/)).map(([kid, alg, , , state]) => [kid, alg, state])).toEqual([
      ['soon', 'ES256', 'next'],
      ['over', 'ES256', 'retired'],
      ['past', 'ES256', 'gone'],
      ['ed-1', 'EdDSA', 'active'],
    ])
    const { stdout } = await cli.run(['keys', 'list', '--json', '--config', 'states.yaml'])
    expect(JSON.parse(stdout)[1]).toMatchObject({ kid: 'over', state: 'retired', purposes: ['id_token'] })
    await expect(stat(join(cli.folder, 'data'))).rejects.toThrow('ENOENT')
  })
})

describe('signet keys create', () => {
  it('creates a key for a configuration that does not have it yet, and prints its lines', async () => {
    const whole = configuration().replace(/^signers:\n.*\n/m, signers)
    await cli.write('waiting.yaml', whole.replace(/^keys:\n.*\n/m, ''))
    const made = await cli.run(['keys', 'create', '--config', 'waiting.yaml', '--signer', 'local', '--alg', 'EdDSA'])
    expect({ code: made.code, stderr: made.stderr }).toEqual({ code: 0, stderr: expect.stringContaining('`keys:`') })
    const [key] = parse(made.stdout) as { kid: string; ref: string }[]
    expect(key).toEqual({ kid: expect.stringMatching(/^eddsa-/), alg: 'EdDSA', signer: 'local', ref: key!.kid })
    expect((await stat(join(cli.folder, 'keys', key!.ref))).mode & 0o777).toBe(0o600)

    await cli.write('complete.yaml', whole.replace(/^keys:\n.*\n/m, `keys:\n${made.stdout}`))
    const service = await cli.serve(['start', '--config', 'complete.yaml'])
    const { keys } = await (await fetch(new URL('/jwks.json', service.public))).json()
    expect(keys).toMatchObject([{ kid: key!.kid, alg: 'EdDSA' }])
    service.child.kill('SIGTERM')
    expect(await service.ended).toBe(0)
  })

  it('accepts kid and ref, and creates no key twice', async () => {
    await cli.write('once.yaml', configuration().replace(/^signers:\n.*\n/m, signers))
    const create = (...more: string[]) =>
      cli.run(['keys', 'create', '--config', 'once.yaml', '--signer', 'local', '--alg', 'ES384', ...more])
    const made = await create('--kid', 'es-2026-11', '--ref', 'november.pem')
    expect(parse(made.stdout)).toEqual([{ kid: 'es-2026-11', alg: 'ES384', signer: 'local', ref: 'november.pem' }])
    expect(await create('--kid', 'another', '--ref', 'november.pem')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('november.pem already exists'),
    })
    expect(await create('--kid', 'ed-1')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('ed-1'),
    })
  })

  it('ignores problems of other signers', async () => {
    const second = '  local2: { use: 7 }\n'
    await cli.write(
      'other.yaml',
      configuration().replace(/^signers:\n.*\n/m, (text) => text + second),
    )
    const args = ['--config', 'other.yaml', '--signer', 'local', '--alg', 'EdDSA', '--kid', 'beside']
    expect(await cli.run(['keys', 'create', ...args])).toMatchObject({ code: 0 })
    const wrong = await cli.run(['keys', 'create', ...args.with(3, 'local2')])
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringMatching(/^signers\.local2\.use: /) })
  })

  it('reports which signer is missing or wrong', async () => {
    await cli.write('wrong.yaml', configuration().replace('create: true', 'creat: true'))
    const create = (signer: string) =>
      cli.run(['keys', 'create', '--config', 'wrong.yaml', '--signer', signer, '--alg', 'ES256'])
    expect(await create('hsm')).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('no signer hsm') })
    expect(await create('local')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/^signers\.local\.options\.creat: .* \(line \d+\)\n$/),
    })
  })
})
