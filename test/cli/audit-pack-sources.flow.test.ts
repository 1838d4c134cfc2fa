import { execFile } from 'node:child_process'
import { cp, rm, stat } from 'node:fs/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AuditChain } from '../../core/observe/audit-chain.js'
import { freePort } from '../support/free-port.js'
import {
  openAuditedDeployment,
  packsFrom,
  soon,
  withAuditKey,
  type AuditedDeployment,
} from '../support/server/audited-deployment.js'
import { openTimeStampAuthority, type TimeStampAuthority } from '../support/server/time-stamp-authority.js'
import { describeWith } from '../support/services/describe-with.js'

let pack: AuditedDeployment
beforeAll(async () => {
  pack = await openAuditedDeployment()
})
afterAll(() => pack[Symbol.asyncDispose]())

describe("what an auditor's pack is made from", () => {
  it('KR71: shows names with HTML and control characters as text, on the page and on the terminal', async () => {
    const hostile = '<img src=x onerror=alert(1)>\u001b[31m\u202e{{ 1 }}<%= 1 %>'
    const more = JSON.stringify({
      time: '2026-02-01T00:00:00Z',
      event: 'administration',
      action: hostile,
      by: { os_user: hostile },
    })
    const [line = ''] = new AuditChain(false).link([more.slice(1)])
    const foreign = JSON.stringify({ ...JSON.parse(line), writer: hostile, seq: 2 })
    await pack.cli.write('hostile.jsonl', `${line}\n${foreign}\n`)
    expect(await pack.make('hostile', '--audit', 'hostile.jsonl')).toMatchObject({ code: 1 })
    const page = await pack.read('hostile', 'index.html')
    expect(page).toContain('&lt;img src=x onerror=alert(1)&gt;\\u001b[31m\\u202e')
    for (const raw of ['<img', '\u001b', '\u202e']) expect(page).not.toContain(raw)
    const shown = await pack.verify('hostile')
    expect(shown.stdout).toContain('<img')
    for (const raw of ['\u001b', '\u202e']) expect(shown.stdout).not.toContain(raw)
  })

  it('compares the logs of backends, and says with which files', async () => {
    await pack.cli.write('softhsm.log', '2026-11-20T10:00:00Z vm x: SoftHSM.cpp(1): a failure\n')
    expect(await pack.make('compared', '--hsm-log', 'softhsm=softhsm.log')).toMatchObject({ code: 0 })
    const found = JSON.parse(await pack.read('compared', 'reconciliation.json'))
    expect(found).toMatchObject({
      files: [{ kind: 'softhsm', name: 'softhsm.log', bytes: 53 }],
      hsm: { logs: [{ format: 'softhsm' }] },
    })
    expect(await pack.findings('compared')).toEqual([])
    const wrong = await pack.make('wrong', '--hsm-log', 'luna=softhsm.log')
    expect(wrong).toMatchObject({ code: 1, stderr: expect.stringContaining('no event of the format luna') })
    await expect(stat(pack.path('wrong'))).rejects.toThrow()
    const reconciled = await pack.cli.run([
      'audit',
      'reconcile',
      '--hsm-log',
      'softhsm=softhsm.log',
      '--audit',
      'audit.jsonl',
    ])
    expect(reconciled).toMatchObject({ code: 0, stdout: expect.stringContaining('SoftHSM logs errors and warnings') })
  })

  it('says which backend is absent, and what it has of it in the records', async () => {
    const gone = withAuditKey('audit: { file: ./audit.jsonl }').replace(
      'keys:\n',
      `  gone: { use: signers/aws-kms, options: { region: eu-central-1, endpoint: 'http://127.0.0.1:${await freePort()}' } }\nkeys:\n`,
    )
    await pack.cli.write(
      'gone.yaml',
      gone.replace('plugins:', '  - { kid: kms-1, alg: ES256, signer: gone, ref: alias/none }\nplugins:'),
    )
    const args = ['audit', 'pack', '--config', 'gone.yaml', '--from', packsFrom, '--to', await soon(), '--out', 'gone']
    const made = await pack.cli.run(args, { env: { AWS_ACCESS_KEY_ID: 'a', AWS_SECRET_ACCESS_KEY: 'b' } })
    expect({ code: made.code, out: made.stderr }).toMatchObject({ code: 0 })
    expect(made.stderr).toContain('kms-1: its backend did not confirm it')
    const { keys } = JSON.parse(await pack.read('gone', 'keys.json'))
    expect(keys).toContainEqual(
      expect.objectContaining({ kid: 'kms-1', backend: expect.objectContaining({ status: 'absent' }) }),
    )
    expect(await pack.findings('gone')).toEqual([])
  })
})

describeWith('openssl', 'the time stamp of a pack', () => {
  let authority: TimeStampAuthority
  beforeAll(async () => {
    authority = await openTimeStampAuthority()
    await pack.cli.write(
      'stamped.yaml',
      withAuditKey(`audit: { file: ./audit.jsonl, timestamp_authority: '${authority.url}' }`),
    )
  })
  afterAll(() => authority[Symbol.asyncDispose]())

  const stamp = (out: string) => pack.make(out, '--config', 'stamped.yaml')

  it('verifies with openssl and here, with and without the certificate of the authority', async () => {
    expect(await stamp('stamped')).toMatchObject({ code: 0 })
    const file = (name: string): string => pack.path('stamped', name)
    const query = ['-queryfile', file('timestamp.tsq'), '-in', file('timestamp.tsr'), '-CAfile', authority.ca]
    const data = ['-data', file('manifest.jwt'), '-in', file('timestamp.tsr'), '-CAfile', authority.ca]
    for (const args of [query, data])
      expect((await promisify(execFile)('openssl', ['ts', '-verify', ...args])).stdout).toContain('Verification: OK')
    expect(await pack.findings('stamped', '--timestamp-ca', authority.ca)).toEqual([])
    const seen = await pack.verify('stamped', '--timestamp-ca', authority.ca)
    expect(seen.stdout).toMatch(/^stamped +\d{4}-.*CN=Stamps/m)
    expect((await pack.verify('stamped')).stdout).toContain('whose time stamp it is was not checked')
    expect(await pack.findings('stamped', '--timestamp-ca', authority.otherCa)).toEqual([
      { file: 'timestamp.tsr', message: expect.stringContaining('no trust anchor has issued it') },
    ])
  })

  it('is of this pack: that of another one, a changed one, and a missing one are found', async () => {
    expect(await stamp('another')).toMatchObject({ code: 0 })
    for (const name of ['timestamp.tsq', 'timestamp.tsr'])
      await cp(pack.path('another', name), pack.path('stamped', name))
    expect(await pack.findings('stamped')).toEqual([{ file: 'timestamp.tsr', message: 'it is for another content' }])
    await rm(pack.path('stamped', 'timestamp.tsr'))
    expect(await pack.findings('stamped')).toEqual([{ file: 'timestamp.tsr', message: 'is missing' }])
  })

  it('is not taken from an authority that repeats an old answer, is away, or answers with anything else', async () => {
    const old = authority.last()
    for (const answer of [old, Buffer.from('<html>'), Buffer.alloc(0), Buffer.from('30053003020102', 'hex')]) {
      authority.answer(answer)
      const failed = await stamp('unstamped')
      expect(failed).toMatchObject({ code: 1, stderr: expect.stringContaining('audit.timestamp_authority') })
      await expect(stat(pack.path('unstamped'))).rejects.toThrow()
    }
    authority.answer(undefined)
    await pack.cli.write(
      'away.yaml',
      withAuditKey(`audit: { file: ./audit.jsonl, timestamp_authority: 'http://127.0.0.1:${await freePort()}/' }`),
    )
    const away = await pack.make('away', '--config', 'away.yaml')
    expect(away).toMatchObject({ code: 1, stderr: expect.stringContaining('An outbound fetch failed') })
    await expect(stat(pack.path('away'))).rejects.toThrow()
  })
})
