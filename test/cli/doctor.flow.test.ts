import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { KeyPublication } from '../../core/keys/lifecycle/publications.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import { configuration, openCommandLine, type CommandLine } from '../support/server/command-line.js'

let cli: CommandLine
beforeEach(async () => {
  cli = await openCommandLine()
})
afterEach(() => cli[Symbol.asyncDispose]())

const doctor = (...args: readonly string[]) => cli.run(['doctor', ...args])
const sound = (more = '') => configuration(`audit: { file: ./audit.jsonl }\n${more}`)

interface Examined {
  parts: { latency_ms?: number }[]
  keys: { kid: string; verdict: string; latency_ms?: { p50: number; p99: number } }[]
  problems: { path: string; message: string }[]
}

describe('signet doctor', () => {
  it('shows stores, signers and keys with their latencies, and records its probes', async () => {
    await cli.write('signet.yaml', sound())
    const { code, stdout, stderr } = await doctor('--config', 'signet.yaml')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^PART +LATENCY +VERDICT$/m)
    for (const part of ['storage.records', 'storage.ephemeral', 'signers.local'])
      expect(stdout).toMatch(new RegExp(`^${part} +[\\d.]+ ms +ok$`, 'm'))
    expect(stdout).toMatch(/^KEY +SIGNER +ALG +STATE +P50 +P99 +VERDICT$/m)
    expect(stdout).toMatch(/^ed-1 +local +EdDSA +active +[\d.]+ ms +[\d.]+ ms +ok: new, will be published$/m)
    const audit = (await readFile(join(cli.folder, 'audit.jsonl'), 'utf8')).trimEnd().split('\n')
    expect(audit.map((line) => JSON.parse(line).event)).toEqual(Array(10).fill('key.proved'))
  })

  it('shows the keys that a running service has published', async () => {
    await cli.write('signet.yaml', sound())
    const service = await cli.serve(['start', '--config', 'signet.yaml'])
    const { code, stdout } = await doctor('--json', '--config', 'signet.yaml')
    service.child.kill('SIGTERM')
    expect(code).toBe(0)
    const { keys, parts } = JSON.parse(stdout) as Examined
    expect(keys).toMatchObject([{ kid: 'ed-1', state: 'active', verdict: 'ok' }])
    for (const time of [keys[0]?.latency_ms?.p50, keys[0]?.latency_ms?.p99, ...parts.map((part) => part.latency_ms)])
      expect(String(time)).toMatch(/^\d+(\.\d)?$/)
    expect(await service.ended).toBe(0)
  })

  it('finds nothing wrong with slots before the first start, and their keys after it', async () => {
    const slots = 'keys:\n  - { slot: ed, alg: EdDSA, signer: local }\n'
    const text = sound()
      .replace(/^keys:\n(?: .*\n)+/m, slots)
      .replace('./data/keys', './data/new-keys')
    expect(text).toContain(slots)
    await cli.write('signet.yaml', text)
    const before = await doctor('--config', 'signet.yaml')
    expect({ code: before.code, stderr: before.stderr }).toEqual({ code: 0, stderr: '' })
    expect(before.stdout).not.toContain('warning')
    const service = await cli.serve(['start', '--config', 'signet.yaml'])
    service.child.kill('SIGTERM')
    await service.ended
    const after = JSON.parse((await doctor('--json', '--config', 'signet.yaml')).stdout) as Examined
    expect(after.keys).toMatchObject([{ kid: 'ed-1', verdict: 'ok' }])
  })

  it('names each unusable key with its path, and continues', async () => {
    const keys = [
      '  - { kid: absent, alg: EdDSA, signer: strict, ref: absent }',
      '  - { kid: wrong, alg: RS256, signer: strict, ref: ../ed-1 }',
      '  - { kid: hanging, alg: ES256, signer: broken, ref: hanging }',
    ].join('\n')
    const signers = [
      '  strict: { use: signers/local, options: { directory: ./data/other } }',
      '  broken: { use: ./broken.js }',
    ].join('\n')
    await cli.write('broken.js', brokenSigner)
    await cli.write(
      'signet.yaml',
      sound()
        .replace(/^keys:\n.*$/m, (text) => `${text}\n${keys}`)
        .replace(/^signers:$/m, (text) => `${text}\n${signers}`),
    )
    const { code, stdout } = await doctor('--json', '--config', 'signet.yaml')
    expect(code).toBe(1)
    const { keys: rows, problems } = JSON.parse(stdout) as Examined
    expect(rows.map(({ kid, verdict }) => [kid, /^ok/.test(verdict)])).toEqual([
      ['ed-1', true],
      ['absent', false],
      ['wrong', false],
      ['hanging', false],
    ])
    expect(problems.map(({ path }) => path)).toEqual([
      'signers.strict',
      'signers.broken',
      'keys[1]',
      'keys[2]',
      'keys[3]',
    ])
    expect(problems.at(-1)?.message).toContain('could not log in')
    // One attempt at a PIN, whatever else is asked of the signer.
    expect(await readFile(join(cli.folder, 'logins'), 'utf8')).toBe('1')
  })

  it('prints the problems of the file first', async () => {
    await cli.write('signet.yaml', sound('log: { level: loud }'))
    const { code, stdout } = await doctor('--config', 'signet.yaml')
    expect({ code, stdout }).toEqual({ code: 1, stdout: expect.stringMatching(/^signet\.yaml: log\.level: /) })
    const asJson = async (...args: readonly string[]) => {
      const answer = await doctor('--json', ...args)
      expect(answer).toMatchObject({ code: 1, stderr: '' })
      return JSON.parse(answer.stdout) as unknown
    }
    const problems = [expect.objectContaining({ file: 'signet.yaml', path: 'log.level' })]
    expect(await asJson('--config', 'signet.yaml')).toEqual({ parts: [], keys: [], warnings: [], problems })
    await cli.write('sound.yaml', sound())
    const compared = { tokens: [], differences: [], alike: false, problems }
    expect(await asJson('--compare', 'sound.yaml', 'signet.yaml')).toEqual(compared)
  })

  it('reports which store cannot be used', async () => {
    await cli.write('taken', '')
    await cli.write('signet.yaml', sound('storage: { records: { use: embedded, options: { path: ./taken } } }'))
    const { code, stderr } = await doctor('--config', 'signet.yaml')
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^storage\.records: /m) })
  })

  it('reports that no key signs yet, as startup and readiness do', async () => {
    const store = await openEmbedded({ path: join(cli.folder, 'data', 'store'), clock: Date.now })
    const earlier = Date.now() - 3_600_000
    const publication = { thumbprint: 'of-another-key', first_published: earlier, may_sign_from: earlier }
    await store.records<KeyPublication>('key_publications').put('ed-0', publication)
    await store[Symbol.asyncDispose]()
    await cli.write('signet.yaml', sound())
    const gap = (purpose: string) => new RegExp(`no key signs ${purpose} with EdDSA until 20\\d\\d-\\S+Z`)
    const { code, stdout } = await doctor('--json', '--config', 'signet.yaml')
    expect(code).toBe(1)
    const { problems } = JSON.parse(stdout) as Examined
    expect(problems).toEqual([
      { path: 'keys', message: expect.stringMatching(gap('access_token')) },
      { path: 'keys', message: expect.stringMatching(gap('id_token')) },
    ])

    const service = await cli.serve(['start', '--config', 'signet.yaml'])
    await service.printed('"component":"keys","status":"down"')
    const ready = await fetch(`${service.admin}/health/ready`)
    expect(ready.status).toBe(503)
    const { components } = (await ready.json()) as { components: Record<string, unknown> }
    expect(components).toMatchObject({
      keys: { status: 'down', message: expect.stringMatching(gap('access_token')) },
      'keys.access_token': { status: 'down', message: expect.stringMatching(gap('access_token')) },
      'keys.id_token': { status: 'down' },
      'keys.ed-1': { status: 'up' },
    })
    expect(service.output()).toMatch(gap('access_token'))
    service.child.kill('SIGTERM')
    expect(await service.ended).toBe(0)

    await cli.write('signet.yaml', sound().replace('kid: ed-1', 'allow_early: true, kid: ed-1'))
    expect(await doctor('--config', 'signet.yaml')).toMatchObject({ code: 0, stderr: '' })
  })

  it('refuses another key behind a published kid', async () => {
    await cli.write('signet.yaml', sound())
    const service = await cli.serve(['start', '--config', 'signet.yaml'])
    service.child.kill('SIGTERM')
    await service.ended
    await cli.write('exchanged.yaml', sound().replace('./data/keys', './data/others'))
    const message = /^keys\[0\].*: is not the key that was published as ed-1/m
    const examined = await doctor('--config', 'exchanged.yaml')
    expect(examined).toMatchObject({ code: 1, stderr: expect.stringMatching(message) })
    const started = await cli.run(['start', '--config', 'exchanged.yaml'], { alone: true })
    expect(started).toMatchObject({ code: 1, stderr: expect.stringMatching(message) })
  })
})

describe('signet doctor --compare', () => {
  const other = (text: string) => text.replaceAll('./data/', './data-b/').replaceAll('ed-1', 'ed-9')

  it('finds no difference between deployments that differ only in their keys', async () => {
    const more = 'resources: [{ identifier: https://api.example, scope: api }]\n'
    await cli.write('a.yaml', sound(more))
    await cli.write('b.yaml', other(sound(more)))
    const { code, stdout, stderr } = await doctor('--compare', 'a.yaml', 'b.yaml')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toMatch(/^access token of a service +EdDSA +ed-1 +ed-9 +alike$/m)
    expect(stdout).toMatch(/^id_token with https:\/\/api\.example +EdDSA +ed-1 +ed-9 +alike$/m)
    expect(stdout).toMatch(/^userinfo with EdDSA +EdDSA +ed-1 +ed-9 +alike$/m)
    expect(stdout).toMatch(/^introspection with EdDSA +EdDSA +ed-1 +ed-9 +alike$/m)
    expect(stdout).toMatch(/They sign alike\.\n$/)
    expect(stdout).not.toMatch(/eyJ/)
  })

  it('accepts differences that follow from the issuers, and shows them', async () => {
    await cli.write('a.yaml', sound())
    await cli.write('b.yaml', other(sound()).replace('http://localhost:3000', 'https://id.bank.example'))
    const { code, stdout } = await doctor('--compare', 'a.yaml', 'b.yaml')
    expect(code).toBe(0)
    expect(stdout).toMatch(
      /^id_token +claims\.iss +"http:\/\/localhost:3000" +"https:\/\/id\.bank\.example" +the issuers$/m,
    )
  })

  it.each([
    ['a lifetime', 'access_token_ttl_secs: 120', 'claims.exp'],
    ['an audience', 'default_audience: https://api.example', 'claims.aud'],
    ['a resource', 'resources: [{ identifier: https://api.example }]', 'issuance'],
  ])('reports a different %s', async (_, more, where) => {
    await cli.write('a.yaml', sound())
    await cli.write('b.yaml', other(sound(more)))
    const { code, stdout } = await doctor('--compare', 'a.yaml', 'b.yaml', '--json')
    expect(code).toBe(1)
    const { differences, alike } = JSON.parse(stdout) as {
      differences: { where: string; allowed: boolean }[]
      alike: boolean
    }
    expect(alike).toBe(false)
    expect(new Set(differences.map((one) => one.where))).toEqual(new Set([where]))
  })

  it.each([
    ['lifetime', 'attestation: { signing_alg: EdDSA, attestation_ttl_secs: 86000 }', 'claims.exp'],
    ['type', 'attestation: { signing_alg: EdDSA, typ: bank-device+jwt }', 'header.typ'],
    ['whether there are any', '', 'issuance'],
  ])('reports a difference in attestations: %s', async (_, more, where) => {
    const issuing = (section: string) =>
      configuration(`  - use: plugins/attestation/bootstrap\naudit: { file: ./audit.jsonl }\n${section}\n`)
    await cli.write('a.yaml', issuing('attestation: { signing_alg: EdDSA }'))
    await cli.write('b.yaml', other(issuing(more)))
    const { code, stdout } = await doctor('--compare', 'a.yaml', 'b.yaml', '--json')
    expect(code).toBe(1)
    const { differences } = JSON.parse(stdout) as { differences: { token: string; where: string }[] }
    expect(differences).toEqual([expect.objectContaining({ token: 'attestation', where })])
  })

  it('reports a different algorithm', async () => {
    await cli.write('a.yaml', sound())
    await cli.write('b.yaml', other(sound()).replaceAll('EdDSA', 'ES256'))
    const { code, stdout } = await doctor('--compare', 'a.yaml', 'b.yaml')
    expect(code).toBe(1)
    expect(stdout).toMatch(/^access token of a service +header\.alg +"EdDSA" +"ES256"/m)
    expect(stdout).toMatch(/They do not sign alike\.\n$/)
  })

  it('requires two files', async () => {
    expect(await doctor('--compare', 'a.yaml')).toMatchObject({ code: 2, stderr: expect.stringContaining('two files') })
  })
})

/** Counts its attempts to log in, which fail. */
const brokenSigner = `
import { writeFileSync } from 'node:fs'
let logins = 0
export default {
  name: 'broken', apiVersion: 1,
  create() {
    writeFileSync('logins', String(++logins))
    const fail = async () => { throw new Error('could not log in') }
    return { open: fail, ping: fail, [Symbol.asyncDispose]: async () => {} }
  },
}
`
