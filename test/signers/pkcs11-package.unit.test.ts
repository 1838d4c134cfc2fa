import { fork } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'

/** The compiled child, as it is where the optional package could not be built: away from any `node_modules`. */
describe('without pkcs11js', () => {
  let directory: string
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'signet-pkcs11-'))
    await cp(join(packageRoot, 'dist', 'signers', 'pkcs11'), directory, { recursive: true })
    await writeFile(join(directory, 'package.json'), '{ "type": "module" }')
  })
  afterAll(() => rm(directory, { recursive: true }))

  it('the signer says what is missing and how to get it', async () => {
    const child = fork(join(directory, 'child.js'), { stdio: ['ignore', 'ignore', 'inherit', 'ipc', 'pipe'] })
    const module = '/usr/lib/softhsm/libsofthsm2.so'
    child.send({ module, token: { token: 'signet' }, pin: '1234', pinInDoubt: false, sessions: 1, signatureBytes: 512 })
    const [report] = (await once(child, 'message')) as unknown[]
    child.kill('SIGKILL')
    expect(report).toMatchObject({ event: 'failed', failure: { kind: 'refused' } })
    expect(JSON.stringify(report)).toContain('pkcs11js is not installed or was not built: it needs a C++ compiler')
  })
})
