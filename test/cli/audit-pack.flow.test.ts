import { createHash, createPublicKey } from 'node:crypto'
import { cp, mkdir, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { calculateJwkThumbprint, compactVerify, importJWK, type JWK } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  canary,
  openAuditedDeployment,
  packsFrom,
  soon,
  type AuditedDeployment,
} from '../support/server/audited-deployment.js'
import { configuration } from '../support/server/command-line.js'

let pack: AuditedDeployment
beforeAll(async () => {
  pack = await openAuditedDeployment()
})
afterAll(() => pack[Symbol.asyncDispose]())

describe("the auditor's pack", () => {
  it('is made while the service runs, verifies with the published key alone, and is in the audit log itself', async () => {
    const made = await pack.make('whole')
    expect(made).toMatchObject({ code: 0, stderr: '' })
    expect(made.stdout).toContain('Made the pack whole')
    expect(await pack.findings('whole')).toEqual([])

    const names = await readdir(pack.path('whole'))
    for (const name of names) expect((await stat(pack.path('whole', name))).mode & 0o777).toBe(0o600)
    expect((await stat(pack.path('whole'))).mode & 0o777).toBe(0o700)
    const jws = await pack.read('whole', 'manifest.jwt')
    const jwk = pack.jwks.keys.find(({ kid }) => kid === 'audit-1')!
    const { payload, protectedHeader } = await compactVerify(jws, await importJWK(jwk, 'ES256'))
    expect(protectedHeader).toMatchObject({ typ: 'audit-pack+jwt', kid: 'audit-1', alg: 'ES256' })
    expect(Buffer.from(payload)).toEqual(await readFile(pack.path('whole', 'manifest.json')))
    const manifest = JSON.parse(Buffer.from(payload).toString()) as {
      files: { name: string; bytes: number; sha256: string }[]
    }
    for (const { name, bytes, sha256 } of manifest.files) {
      const content = await readFile(pack.path('whole', name))
      expect([content.length, createHash('sha256').update(content).digest('base64url')]).toEqual([bytes, sha256])
    }
    expect(manifest.files.map(({ name }) => name).sort()).toEqual(
      names.filter((name) => !name.startsWith('manifest')).sort(),
    )

    const lines = (await pack.read('audit.jsonl'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const own = lines.filter(({ action, event }) => action === 'audit.pack' || event === 'audit.signed')
    expect(own.map(({ event }) => event)).toEqual(['administration.begun', 'audit.signed', 'administration'])
    expect(own[2].manifest).toBe(createHash('sha256').update(payload).digest('base64url'))
  })

  it('has every key with its thumbprint and what its backend says, the counts, changes and operators', async () => {
    const keys = JSON.parse(await pack.read('whole', 'keys.json'))
    for (const { kid, ...jwk } of pack.jwks.keys)
      expect(keys.keys).toContainEqual(
        expect.objectContaining({
          kid,
          state: 'active',
          thumbprint: await calculateJwkThumbprint(jwk as JWK),
          known_from: ['configuration', 'publications'],
          backend: expect.objectContaining({
            status: 'answered',
            thumbprint: await calculateJwkThumbprint(jwk as JWK),
          }),
        }),
      )
    expect(keys.signers).toEqual([
      expect.objectContaining({ signer: 'local', module: 'signers/local', status: 'answered' }),
    ])
    const signatures = JSON.parse(await pack.read('whole', 'signatures.json'))
    expect(signatures).toContainEqual(
      expect.objectContaining({ kid: 'ed-1', issued: 1, probes: expect.toSatisfy((count) => count > 0) }),
    )
    const changes = (await pack.read('whole', 'changes.jsonl')).trimEnd().split('\n')
    expect(changes.map((line) => JSON.parse(line)).map(({ event, action }) => action ?? event)).toEqual([
      'configuration.loaded',
      'client.add',
      'client.add',
    ])
    const operators = JSON.parse(await pack.read('whole', 'operators.json'))
    expect(operators).toContainEqual(
      expect.objectContaining({ actions: { 'client.add': 1 }, by: expect.objectContaining({ via: 'command' }) }),
    )
    const sbom = JSON.parse(await pack.read('whole', 'sbom.json'))
    expect(sbom).toMatchObject({ bomFormat: 'CycloneDX', metadata: { component: { name: 'signet-idp' } } })
    expect(sbom.components.map(({ name }: { name: string }) => name)).toContain('jose')
  })

  it('holds no secret of the configuration, the store or the keys', async () => {
    const files = await readdir(pack.path('data', 'keys'))
    const d = (await Promise.all(files.map((name) => pack.read('data', 'keys', name))))
      .flatMap((text) => /"d":\s*"([^"]+)"/.exec(text)?.[1] ?? text.split('\n')[1] ?? [])
      .filter((text) => text.length > 16)
    expect(d).not.toEqual([])
    for (const name of await readdir(pack.path('whole'))) {
      const content = await pack.read('whole', name)
      for (const secret of [canary, pack.clientSecret, ...d]) expect(content).not.toContain(secret)
    }
  })

  it('is shown on a page without script that says what the files say', async () => {
    const page = await pack.read('whole', 'index.html')
    expect(page).toContain('http://localhost:3000')
    expect(page).not.toMatch(/<script|<img|<link|https?:\/\/(?!localhost:3000)|javascript:|@import|url\(/i)
    expect(page).toContain("default-src 'none'")
  })

  it('refuses a folder that is not empty, a range that is none, and a deployment without a key for it', async () => {
    expect(await pack.make('whole')).toMatchObject({ code: 1, stderr: expect.stringContaining('not empty') })
    const args = ['audit', 'pack', '--config', 'signet.yaml', '--out', 'none']
    expect(await pack.cli.run([...args, '--from', '2026-02-01', '--to', '2026-01-01'])).toMatchObject({ code: 1 })
    expect(await pack.cli.run([...args, '--from', packsFrom, '--to', '2999-01-01'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('in the future'),
    })
    expect(await pack.cli.run([...args, '--from', packsFrom])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--to'),
    })
    expect(await pack.verify('whole', '--from', packsFrom)).toMatchObject({ code: 2 })
    await pack.cli.write('without.yaml', configuration('audit: { file: ./audit.jsonl }'))
    const without = [
      'audit',
      'pack',
      '--config',
      'without.yaml',
      '--from',
      packsFrom,
      '--to',
      await soon(),
      '--out',
      'none',
    ]
    expect(await pack.cli.run(without)).toMatchObject({ code: 1, stderr: expect.stringContaining('purpose audit') })
    await expect(stat(pack.path('none'))).rejects.toThrow()
  })

  it('shows the thumbprint to compare when no key is given, and takes a JWK and PEM too', async () => {
    const jwk = pack.jwks.keys.find(({ kid }) => kid === 'audit-1')!
    const unknown = await pack.verify('whole')
    expect(unknown).toMatchObject({ code: 0, stdout: expect.stringContaining('compare the thumbprint') })
    expect(unknown.stdout).toContain(await calculateJwkThumbprint(jwk))
    await pack.cli.write('audit.jwk', JSON.stringify(jwk))
    expect(await pack.verify('whole', '--key', 'audit.jwk')).toMatchObject({ code: 0 })
    await pack.cli.write(
      'audit.pem',
      createPublicKey({ key: { ...jwk }, format: 'jwk' }).export({ type: 'spki', format: 'pem' }) as string,
    )
    expect(await pack.verify('whole', '--key', 'audit.pem')).toMatchObject({ code: 0 })
    await pack.cli.write('other.jwk', JSON.stringify(pack.jwks.keys.find(({ kid }) => kid === 'ed-1')))
    expect(await pack.verify('whole', '--key', 'other.jwk')).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('manifest.jwt: does not verify with the given key'),
    })
    await pack.cli.write('nothing.jwk', canary)
    const unfit = await pack.verify('whole', '--key', 'nothing.jwk')
    expect(unfit).toMatchObject({ code: 1, stderr: expect.stringContaining('nothing.jwk: holds neither') })
    expect(unfit.stderr).not.toContain(canary)
  })

  it('names every file that is changed, missing, a link, or not of the pack', async () => {
    const names = await readdir(pack.path('whole'))
    for (const name of names) {
      await cp(pack.path('whole'), pack.path('changed'), { recursive: true })
      const content = await readFile(pack.path('changed', name))
      content[content.length >> 1] = (content[content.length >> 1] ?? 0) ^ 1
      await writeFile(pack.path('changed', name), content)
      expect(await pack.findings('changed')).toContainEqual(expect.objectContaining({ file: name }))
      await rm(pack.path('changed', name))
      expect(await pack.findings('changed')).toContainEqual({ file: name, message: 'is missing' })
      await symlink(pack.path('whole', name), pack.path('changed', name))
      expect(await pack.findings('changed')).toContainEqual({ file: name, message: 'is a link' })
      await rm(pack.path('changed'), { recursive: true })
    }
    await cp(pack.path('whole'), pack.path('changed'), { recursive: true })
    await writeFile(pack.path('changed', 'notes.txt'), 'x')
    await mkdir(pack.path('changed', 'more'))
    expect(await pack.findings('changed')).toEqual([
      { file: 'more', message: 'is not in the manifest' },
      { file: 'notes.txt', message: 'is not in the manifest' },
    ])
    await rm(pack.path('changed'), { recursive: true })
  })

  it('shows and reports what was done to the log before it was made', async () => {
    const lines = (await pack.read('audit.jsonl')).trimEnd().split('\n')
    await pack.cli.write('cut.jsonl', `${lines.toSpliced(2, 1).join('\n')}\n`)
    const made = await pack.make('cut', '--audit', 'cut.jsonl')
    expect(made).toMatchObject({ code: 1, stdout: expect.stringContaining('missing') })
    expect(await pack.findings('cut')).toEqual([{ file: 'audit.jsonl', message: expect.stringContaining('missing') }])
    expect(await pack.read('cut', 'index.html')).toContain('chain broken')
  })
})
