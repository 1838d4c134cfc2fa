import { createHash, generateKeyPairSync, sign, type KeyObject } from 'node:crypto'
import { execFileSync } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, symlink, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { AuditChain } from '../../core/observe/audit-chain.js'
import type { PackFinding } from '../../core/operate/pack/pack-report.js'
import { verifyPack } from '../../core/operate/pack/verify-pack.js'
import { packType, partNames } from '../../core/operate/pack/pack.js'
import { build } from '../../core/package-root.js'

let folder: string
let outside: string
let privateKey: KeyObject
let jwk: object
let publicJwk: object
beforeAll(async () => {
  outside = await mkdtemp(join(tmpdir(), 'signet-outside-'))
  const pair = generateKeyPairSync('ed25519')
  privateKey = pair.privateKey
  publicJwk = pair.publicKey.export({ format: 'jwk' })
  jwk = { ...publicJwk, kid: 'audit' }
})
beforeEach(async () => {
  folder = await mkdtemp(join(outside, 'pack-'))
})
afterAll(() => rm(outside, { recursive: true }))

const encode = (text: string): string => Buffer.from(text).toString('base64url')
const digest = (content: string | Uint8Array): string => createHash('sha256').update(content).digest('base64url')
const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

const range = { from: '2026-11-20T10:00:00Z', to: '2026-11-21T10:00:00Z' }
const lines = new AuditChain(false).link([
  '"time":"2026-11-20T10:00:00Z","pid":1,"event":"configuration.loaded","by":{"via":"start"}}',
  '"time":"2026-11-20T11:00:00Z","pid":1,"event":"audit.signed","kid":"a","signer":"s","digest":"x"}',
])
const text = (of: readonly string[]): string => of.map((line) => `${line}\n`).join('')
const writer = /"writer":"(\w+)"/.exec(lines[0] ?? '')?.[1] ?? ''
const parts: Readonly<Record<string, string>> = {
  'audit.jsonl': text(lines),
  'chain.json': json({ lines: 2, files: [0], before: { writers: [], hashes: [] }, after: [], named: [], heads: [] }),
  'changes.jsonl': text(lines.slice(0, 1)),
  'operators.json': json([
    {
      by: { via: 'start' },
      first: '2026-11-20T10:00:00Z',
      last: '2026-11-20T10:00:00Z',
      actions: { configuration: 1 },
    },
  ]),
  'signatures.json': json([
    { kid: 'a', signer: 's', issued: 1, probes: 0, first: '2026-11-20T11:00:00Z', last: '2026-11-20T11:00:00Z' },
  ]),
  'keys.json': json({ signers: [], keys: [] }),
  'reconciliation.json': json({ files: [] }),
  'index.html': '<p>',
}

interface Forged {
  readonly parts?: Readonly<Record<string, string | Uint8Array>>
  readonly manifest?: object
  readonly header?: object
  /** The text that is signed, instead of the manifest. */
  readonly signed?: string
}

/** A pack by somebody who has the key, with anything in it. */
const forge = async ({ parts: more = {}, manifest: other = {}, header = {}, signed }: Forged = {}): Promise<void> => {
  const all = Object.entries({ ...parts, ...more })
  for (const [name, content] of all) await writeFile(join(folder, name), content)
  const files = all.map(([name, content]) => ({ name, bytes: Buffer.from(content).length, sha256: digest(content) }))
  const manifest = json({
    ...{ format: 1, version: 'another', issuer: 'https://id.example', range, made_at: range.to, made_by: {}, files },
    ...other,
  })
  await writeFile(join(folder, 'manifest.json'), manifest)
  const head = { alg: 'EdDSA', typ: packType, kid: 'audit', jwk, ...header }
  const input = `${encode(JSON.stringify(head))}.${encode(signed ?? manifest)}`
  const signature = sign(null, Buffer.from(input), privateKey).toString('base64url')
  await writeFile(join(folder, 'manifest.jwt'), `${input}.${signature}`)
}
const find = async (options: Parameters<typeof verifyPack>[1] = { keys: [jwk] }): Promise<readonly PackFinding[]> =>
  (await verifyPack(folder, options)).findings
const withFile = (file: string, more: object = {}) => ({
  files: [{ name: file, bytes: 1, sha256: digest('x'), ...more }],
})

describe('a hostile pack', () => {
  it('is not accepted by mistake: the honest one of this test verifies', async () => {
    await forge()
    expect(await find()).toEqual([])
  })

  it.each([
    '../secret',
    '/etc/passwd',
    'a/b',
    '..',
    '.',
    '',
    'C:\\x',
    'a\0b',
    '.hidden',
    'manifest.jwt',
    'x'.repeat(99),
  ])('KR60: names a file %j outside of it, which is not opened', async (name) => {
    await writeFile(join(outside, 'secret'), 'x')
    await forge({ manifest: withFile(name) })
    expect(await find()).toEqual([
      { file: 'manifest.json', message: 'is not a manifest of a format that this version knows' },
    ])
  })

  it('KR61: has links, pipes and folders in the place of files, which are neither followed nor waited for', async () => {
    await forge()
    const secret = join(outside, 'secret')
    await writeFile(secret, parts['keys.json'] ?? '')
    for (const name of ['keys.json', 'audit.jsonl', 'manifest.jwt']) {
      await rm(join(folder, name))
      await symlink(secret, join(folder, name))
      expect(await find()).toContainEqual({ file: name, message: 'is a link' })
      await rm(join(folder, name))
      execFileSync('mkfifo', [join(folder, name)])
      expect(await find()).toContainEqual({ file: name, message: 'is not a file' })
      await rm(join(folder, name))
      await mkdir(join(folder, name))
      expect(await find()).toContainEqual({ file: name, message: 'is not a file' })
      await rm(join(folder, name), { recursive: true })
      await forge()
    }
  })

  it('KR62: has huge files, which are not read: a size is compared before a digest', async () => {
    await forge()
    await truncate(join(folder, 'keys.json'), 2 ** 40)
    await truncate(join(folder, 'manifest.json'), 2 ** 40)
    expect(await find()).toEqual(
      expect.arrayContaining([
        { file: 'manifest.json', message: 'is too large' },
        { file: 'keys.json', message: expect.stringContaining('1099511627776 bytes') },
        { file: 'keys.json', message: 'is too large' },
      ]),
    )
  })

  it('KR63: has a line without end, packed files, and JSON that is deep, long or of another form', async () => {
    const deep = `${'['.repeat(1e6)}${']'.repeat(1e6)}`
    const cases: [string, string | Uint8Array][] = [
      ['audit.jsonl', 'x'.repeat(9 * 1024 * 1024)],
      ['audit.jsonl', gzipSync(text(lines))],
      ['audit.jsonl', `${deep}\n`],
      ['changes.jsonl', gzipSync(Buffer.alloc(64 * 1024 * 1024))],
      ...Object.keys(parts)
        .filter((name) => name.endsWith('.json') && name !== 'reconciliation.json')
        .flatMap((name): [string, string][] => [
          [name, deep],
          [name, '{"__proto__":{"lines":1}}'],
          [name, '[null]'],
          [name, ''],
        ]),
    ]
    for (const [name, content] of cases) {
      await forge({ parts: { [name]: content } })
      expect(await find(), name).not.toEqual([])
    }
    expect(({} as { lines?: unknown }).lines).toBeUndefined()
  })

  it('KR64: has a page with script, or one that says something else than the files', async () => {
    await forge({ parts: { 'index.html': '<script>alert(1)</script>' }, manifest: { ...build } })
    expect(await find()).toEqual([{ file: 'index.html', message: 'does not show what the files say' }])
    for (const content of [
      '{"files":[]}',
      json({ files: [{ name: '<script>', bytes: {}, sha256: [] }] }),
      'null',
      '{}',
    ]) {
      await forge({ parts: { 'reconciliation.json': content }, manifest: { ...build } })
      expect(await find()).toEqual([{ file: 'index.html', message: 'does not show what the files say' }])
    }
  })

  it('KR65: is signed as something else, with another algorithm, with no key, or by somebody else', async () => {
    const other = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    for (const header of [
      { typ: 'at+jwt' },
      { typ: undefined },
      { alg: 'none' },
      { alg: 'HS256' },
      { alg: 'ES256' },
      { crit: ['b64'], b64: false },
      { kid: undefined },
    ]) {
      await forge({ header })
      expect(await find()).toContainEqual(expect.objectContaining({ file: 'manifest.jwt' }))
      expect(await find({})).toContainEqual(expect.objectContaining({ file: 'manifest.jwt' }))
    }
    await forge()
    expect(await find({ keys: [other] })).toEqual([
      { file: 'manifest.jwt', message: 'does not verify with the given key' },
    ])
    // The key in the pack is of no weight beside the one that the verifier has.
    await forge({ header: { jwk: other } })
    expect(await find()).toEqual([])
    expect(await find({})).toEqual([{ file: 'manifest.jwt', message: 'does not verify with the key that it names' }])
    await writeFile(join(folder, 'manifest.jwt'), `${await readFile(join(folder, 'manifest.jwt'), 'utf8')}\n`)
    expect(await find()).toContainEqual({ file: 'manifest.jwt', message: 'is not a signature' })
  })

  it('KR66: has a manifest that was not signed, of another format, or with repeated members', async () => {
    await forge({ signed: json({ format: 1 }) })
    expect(await find()).toContainEqual({ file: 'manifest.json', message: 'is not the manifest that was signed' })
    await forge({ manifest: { format: 2 } })
    expect(await find()).toHaveLength(1)
    const twice = (await readFile(join(folder, 'manifest.json'), 'utf8')).replace('{', '{"format":1,')
    await forge({ signed: twice })
    expect(await find()).toContainEqual({ file: 'manifest.jwt', message: 'is not a signature' })
    await forge({ manifest: { files: [] } })
    for (const name of Object.keys(parts))
      expect(await find()).toContainEqual({ file: name, message: 'is not in the manifest' })
  })

  it('KR67: leaves out a change, a signature, an operator, or lines at an end, though all digests fit', async () => {
    const cases: Record<string, string>[] = [
      { 'changes.jsonl': '' },
      { 'changes.jsonl': text(lines) },
      { 'operators.json': '[]\n' },
      { 'signatures.json': '[]\n' },
      { 'audit.jsonl': text(lines.slice(0, 1)) },
      { 'audit.jsonl': text(lines.slice(1)) },
      { 'audit.jsonl': text(lines.toReversed()) },
    ]
    for (const more of cases) {
      await forge({ parts: more })
      expect(await find(), JSON.stringify(more)).toContainEqual({
        file: Object.keys(more)[0],
        message: expect.any(String),
      })
    }
    await forge({ manifest: { range: { from: '2026-11-20T10:30:00Z', to: range.to } } })
    expect(await find()).toEqual([{ file: partNames.audit, message: 'does not begin and end within the range' }])
    const after = [{ writer, pid: 1, seq: 4, prev: 'x'.repeat(43) }]
    await forge({
      parts: { 'chain.json': (parts['chain.json'] ?? '').replace('"after": []', `"after": ${JSON.stringify(after)}`) },
    })
    expect(await find()).toEqual([{ file: partNames.audit, message: expect.stringContaining('are not all there') }])
  })

  it('KR68: has a key whose thumbprint, public key or backend is another one', async () => {
    const key = { kid: 'k', alg: 'EdDSA', backend: { status: 'answered' } }
    for (const [more, message] of [
      [{ jwk: publicJwk, thumbprint: 'x' }, 'thumbprint is not the one'],
      [{ jwk: { ...publicJwk, d: 'secret' }, thumbprint: 'x' }, 'is not accepted'],
      [{ thumbprint: 'x', backend: { status: 'answered', thumbprint: 'y' } }, 'backend has another key'],
    ] as const) {
      await forge({ parts: { 'keys.json': json({ signers: [], keys: [{ ...key, ...more }] }) } })
      expect(await find()).toEqual([{ file: 'keys.json', message: expect.stringContaining(message) }])
    }
  })

  it('KR69: lacks its signature or manifest, as one whose making was interrupted', async () => {
    for (const name of ['manifest.jwt', 'manifest.json']) {
      await forge()
      await rm(join(folder, name))
      expect(await find()).toContainEqual({ file: name, message: 'is missing' })
    }
    await rm(folder, { recursive: true })
    await mkdir(folder)
    expect(await find()).toEqual([
      { file: 'manifest.json', message: 'is missing' },
      { file: 'manifest.jwt', message: 'is missing' },
    ])
  })
})
