import { execFileSync, fork, type ChildProcess } from 'node:child_process'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { KeyRefused, Unavailable, type JwsAlg, type SignerProvider } from '../../core/api/signer.js'
import local from '../../signers/local/index.js'
import { signerServices } from '../support/signers/services.js'

const never = new AbortController().signal
const pkcs8 = (key: KeyObject): string => key.export({ type: 'pkcs8', format: 'pem' }).toString()
const p256 = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

let directory: string
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'signet-keys-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const provider = async (create = false, path = directory): Promise<SignerProvider> =>
  local.create({ directory: path, create }, signerServices)
const put = (name: string, content: string | Buffer, mode = 0o600): Promise<void> =>
  writeFile(join(directory, name), content, { mode })
const open = async (ref: string, alg: JwsAlg = 'ES256') => (await provider()).open(ref, alg, never)

describe('key files', () => {
  it('opens a PKCS#8 file of mode 0600 or 0400', async () => {
    await put('a.pem', pkcs8(p256()))
    await put('b.pem', pkcs8(p256()), 0o400)
    expect((await open('a.pem')).alg).toBe('ES256')
    expect((await open('b.pem')).alg).toBe('ES256')
  })

  it.each([0o604, 0o640, 0o620, 0o602, 0o644, 0o660, 0o666])('refuses mode %o and says what to run', async (mode) => {
    await put('a.pem', pkcs8(p256()))
    await chmod(join(directory, 'a.pem'), mode)
    await expect(open('a.pem')).rejects.toThrow(`run: chmod 600 ${join(directory, 'a.pem')}`)
    await expect(open('a.pem')).rejects.toBeInstanceOf(KeyRefused)
  })

  it.each([0o755, 0o750, 0o701, 0o770])('refuses a directory of mode %o and says what to run', async (mode) => {
    await put('a.pem', pkcs8(p256()))
    await chmod(directory, mode)
    await expect(open('a.pem')).rejects.toThrow(`run: chmod 700 ${directory}`)
    await expect((await provider(true)).open('b.pem', 'ES256', never)).rejects.toBeInstanceOf(KeyRefused)
    await expect((await provider()).ping(never)).rejects.toBeInstanceOf(Unavailable)
  })

  it('looks at the mode of the file behind a symbolic link', async () => {
    await put('real.pem', pkcs8(p256()))
    await symlink(join(directory, 'real.pem'), join(directory, 'link.pem'))
    expect((await open('link.pem')).alg).toBe('ES256')
    await chmod(join(directory, 'real.pem'), 0o644)
    await expect(open('link.pem')).rejects.toBeInstanceOf(KeyRefused)
  })

  it.each(['../a.pem', '..', '.', 'sub/a.pem', '/a.pem', 'a\\b', '.hidden', '-x', 'a b', 'ä.pem', '%2e%2e%2fa.pem'])(
    'refuses the ref %j',
    async (ref) => {
      const inside = join(directory, 'inside')
      await mkdir(inside, { mode: 0o700 })
      await put('a.pem', pkcs8(p256()))
      for (const create of [false, true])
        await expect((await provider(create, inside)).open(ref, 'ES256', never)).rejects.toBeInstanceOf(KeyRefused)
      await expect((await provider(true, inside)).create?.(ref, 'ES256', never)).rejects.toBeInstanceOf(KeyRefused)
      expect(await readdir(inside)).toEqual([])
    },
  )

  it('refuses what is not an unencrypted PKCS#8 key, and never says what is in the file', async () => {
    const key = p256()
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
    const whole = pkcs8(key)
    const files: Record<string, string | Buffer> = {
      'empty.pem': '',
      'text.pem': 'hunter2 is not a key',
      'binary.pem': key.export({ type: 'pkcs8', format: 'der' }),
      'sec1.pem': key.export({ type: 'sec1', format: 'pem' }),
      'pkcs1.pem': rsa.export({ type: 'pkcs1', format: 'pem' }),
      'encrypted.pem': key.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'hunter2' }),
      'truncated.pem': whole.slice(0, 90),
      'cut.pem': `${whole.slice(0, 80)}\n-----END PRIVATE KEY-----\n`,
      'large.pem': whole + '#'.repeat(20_000),
    }
    for (const [name, content] of Object.entries(files)) {
      await put(name, content)
      const error: unknown = await open(name).catch((cause: unknown) => cause)
      expect(error, name).toBeInstanceOf(KeyRefused)
      expect(String(error), name).not.toMatch(/hunter2|MIG|BEGIN/)
      expect((error as Error).message, name).toContain(join(directory, name))
    }
  })

  it('refuses a folder, a pipe and a missing directory', async () => {
    await mkdir(join(directory, 'folder.pem'), { mode: 0o700 })
    execFileSync('mkfifo', ['-m', '600', join(directory, 'pipe.pem')])
    for (const ref of ['folder.pem', 'pipe.pem']) await expect(open(ref), ref).rejects.toBeInstanceOf(KeyRefused)
    await expect((await provider(false, join(directory, 'none'))).open('a', 'ES256', never)).rejects.toThrow(
      'signet keys',
    )
  })

  it('refuses a key that does not fit the algorithm, and weak keys', async () => {
    await put('ec.pem', pkcs8(p256()))
    await put('weak.pem', pkcs8(generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey))
    await put('e3.pem', pkcs8(generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }).privateKey))
    await put('k1.pem', pkcs8(generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey))
    await put('x.pem', pkcs8(generateKeyPairSync('x25519').privateKey))
    await put('pss.pem', pkcs8(generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).privateKey))
    await expect(open('ec.pem', 'RS256')).rejects.toThrow('ec.pem cannot sign RS256, which needs a key of type RSA')
    await expect(open('ec.pem', 'ES384')).rejects.toBeInstanceOf(KeyRefused)
    await expect(open('weak.pem', 'RS256')).rejects.toThrow('2048 to 4096 bits')
    await expect(open('e3.pem', 'RS256')).rejects.toThrow('65537')
    for (const ref of ['k1.pem', 'x.pem', 'pss.pem'])
      for (const alg of ['ES256', 'EdDSA', 'RS256'] as const)
        await expect(open(ref, alg), `${ref} ${alg}`).rejects.toBeInstanceOf(KeyRefused)
  })

  it('refuses a file whose private and public halves are of two keys', async () => {
    const pair = (): Buffer =>
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ type: 'pkcs8', format: 'der' })
    const [one, two] = [pair(), pair()]
    // The public point is the last 65 bytes of the structure (RFC 5915 §3).
    const mixed = Buffer.concat([one.subarray(0, -65), two.subarray(-65)])
    await put('mixed.pem', `-----BEGIN PRIVATE KEY-----\n${mixed.toString('base64')}\n-----END PRIVATE KEY-----\n`)
    await expect(open('mixed.pem')).rejects.toBeInstanceOf(KeyRefused)
  })

  it('resolves a relative directory from the working directory', async () => {
    await put('a.pem', pkcs8(p256()))
    const signer = await (await provider(false, relative(process.cwd(), directory))).open('a.pem', 'ES256', never)
    expect(signer.alg).toBe('ES256')
  })
})

describe('making keys', () => {
  it('makes a directory of 0700 and a file of 0600, once, and leaves nothing else behind', async () => {
    const path = join(directory, 'data', 'keys')
    const first = await (await provider(true, path)).open('a.pem', 'ES256', never)
    const second = await (await provider(true, path)).open('a.pem', 'ES256', never)
    expect(second.publicJwk).toEqual(first.publicJwk)
    expect((await stat(path)).mode & 0o777).toBe(0o700)
    expect((await stat(join(path, 'a.pem'))).mode & 0o777).toBe(0o600)
    expect(await readdir(path)).toEqual(['a.pem'])
    expect(await readFile(join(path, 'a.pem'), 'utf8')).toMatch(/^-----BEGIN PRIVATE KEY-----\n/)
  })

  it('does not make a key unless it is configured to', async () => {
    await expect(open('a.pem')).rejects.toThrow('create it with: signet keys create')
    expect(await readdir(directory)).toEqual([])
  })

  it('create makes one key under a name and refuses the second', async () => {
    const keys = await provider()
    expect(await keys.create?.('a.pem', 'EdDSA', never)).toBe('a.pem')
    const made = await readFile(join(directory, 'a.pem'))
    await expect(keys.create?.('a.pem', 'EdDSA', never)).rejects.toThrow('already exists')
    expect(await readFile(join(directory, 'a.pem'))).toEqual(made)
    expect(await readdir(directory)).toEqual(['a.pem'])
  })

  it('does not replace a damaged file', async () => {
    await put('a.pem', 'damaged')
    await expect((await provider(true)).open('a.pem', 'ES256', never)).rejects.toBeInstanceOf(KeyRefused)
    expect(await readFile(join(directory, 'a.pem'), 'utf8')).toBe('damaged')
  })

  it('four processes that start at once agree on one key', async () => {
    const script = fileURLToPath(new URL('../support/signers/open-key-process.ts', import.meta.url))
    const children = Array.from({ length: 4 }, () => fork(script, { execArgv: ['--import', 'tsx'] }))
    try {
      await Promise.all(children.map((child) => once(child, 'message')))
      const ask = async (child: ChildProcess, ref: string): Promise<unknown> => {
        const answer = once(child, 'message')
        child.send({ directory, ref })
        return (await answer)[0] as unknown
      }
      for (let round = 0; round < 25; round++) {
        const found = await Promise.all(children.map((child) => ask(child, `key-${round}.pem`)))
        expect(new Set(found.map((jwk) => JSON.stringify(jwk))).size, `round ${round}`).toBe(1)
      }
      expect((await readdir(directory)).length).toBe(25)
    } finally {
      await Promise.all(children.map((child) => (child.kill(), once(child, 'exit'))))
    }
  })
})

describe('options', () => {
  it('are strict', () => {
    const validate = (value: unknown) => local.options?.['~standard'].validate(value)
    expect(validate({ directory: './keys' })).toEqual({ value: { directory: './keys', create: false } })
    for (const wrong of [
      {},
      { directory: '' },
      { directory: 1 },
      { directory: 'a', creat: true },
      { directory: 'a', create: 1 },
    ])
      expect(validate(wrong)).toHaveProperty('issues')
  })
})
