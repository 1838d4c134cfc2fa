import { execFile } from 'node:child_process'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { checkSigner } from '../../core/testing/index.js'
import { writeExample } from '../support/document.js'

const execute = promisify(execFile)
const passphrase = 'a passphrase for this test'
let folder: string

/** What `check.js` beside a signer prints, and how it ends. */
const check = async (beside: string): Promise<{ code: number; stdout: string; stderr: string }> =>
  execute(process.execPath, ['check.js', join(folder, 'keys'), passphrase], { cwd: beside }).then(
    (printed) => ({ code: 0, ...printed }),
    (error: { code: number; stdout: string; stderr: string }) => error,
  )

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signet-signer-'))
  writeExample(folder, 'signer', ['encrypted-files.js', 'check.js'])
  await mkdir(join(folder, 'keys'))
  const write = (ref: string, { privateKey }: { readonly privateKey: KeyObject }) =>
    writeFile(
      join(folder, 'keys', `${ref}.pem`),
      privateKey.export({ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase }),
    )
  await write('es-1', generateKeyPairSync('ec', { namedCurve: 'P-256' }))
  await write('rs-1', generateKeyPairSync('rsa', { modulusLength: 2048 }))
})
afterAll(() => rm(folder, { recursive: true }))

/** The signer with something changed, beside the same check. */
const changed = async (from: string, to: string): Promise<string> => {
  const other = await mkdtemp(join(folder, 'changed-'))
  await cp(join(folder, 'check.js'), join(other, 'check.js'))
  const code = await readFile(join(folder, 'encrypted-files.js'), 'utf8')
  expect(code).toContain(from)
  await writeFile(join(other, 'encrypted-files.js'), code.replaceAll(from, to))
  return other
}

describe('checkSigner', () => {
  it('passes the signer of the example, without a test framework', async () => {
    const { code, stdout, stderr } = await check(folder)
    expect(stderr).toBe('')
    expect(stdout).toMatch(/^(\d{2}) of \1 rules$/m)
    expect(code).toBe(0)
  })

  it.each([
    ['signs DER', 'keyInput(alg, privateKey)', '{ key: privateKey }', /ES256 signs in the JOSE form/],
    [
      'signs something else',
      'digest, message, key',
      "digest, Buffer.from('a'), key",
      /RS256 signs messages of 0 bytes/,
    ],
    ['shows its key', '  publicJwk,\n', '  publicJwk,\n  key,\n', /ES256 lets nobody reach private material/],
    ['ignores the signal', 'signal.throwIfAborted()', '', /ES256 rejects a signature that is aborted/],
    ['opens for any algorithm', 'checkPublicJwk(', '((jwk) => ({ jwk }))(', /ES256 refuses to open its key/],
  ])('fails one that %s', async (_, from, to, message) => {
    const { code, stderr } = await check(await changed(from, to))
    expect(stderr).toMatch(message)
    expect(code).toBe(1)
  })

  it('abandons a signer that never answers', async () => {
    const hanging = () => new Promise<never>(() => undefined)
    const provider = { open: hanging, ping: hanging, facts: hanging, [Symbol.asyncDispose]: hanging }
    const { cases, failures } = await checkSigner({ provider, ref: () => 'a', algs: ['ES256'], deadlineMs: 5 })
    expect(failures).toHaveLength(cases)
    expect(failures[0]).toMatchObject({ alg: 'ES256', detail: 'does not end within 5 ms' })
  })
})
