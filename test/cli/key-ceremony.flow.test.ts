/** Keys that are made with people in a room: what is asked, made and written. */
import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { doubleRegion, startKmsDouble } from '../../core/testing/kms-double/index.js'
import { describeWith } from '../support/services/describe-with.js'
import { makeToken } from '../support/signers/softhsm/token.js'
import { ada, auditKey, both, grace, people, sha256, slot, useCeremonies } from '../support/server/key-ceremonies.js'

const its = useCeremonies()

describe('a ceremony for a slot', () => {
  it('makes its next key, which the service then publishes and signs with, and records it', async () => {
    await its.deploy([auditKey, slot])
    const file = `title: The first key\nsigner: local\nslot: es\n${people}`
    const held = await its.hold(file, both, '--out', 'es-1')
    expect(held).toMatchObject({ code: 0, stdout: expect.stringContaining('10 of 10 verified with the public key') })
    expect(held.stdout).not.toContain('\u001b')
    expect(held.stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
    expect(
      its
        .read('es-1', 'transcript.txt')
        .split('\n')
        .filter((line) => line.length > 80),
    ).toEqual([])

    const transcript = its.readTranscript('es-1')
    expect(transcript).toMatchObject({
      ...{ dry_run: false, title: 'The first key', file_sha256: sha256(file), issuer: 'http://localhost:3000' },
      present: [
        { name: ada, role: 'security officer', confirmed_at: expect.any(String) },
        { name: grace, role: 'witness', confirmed_at: expect.any(String) },
      ],
      key: { kid: 'es-1', slot: 'es', alg: 'ES256', signer: 'local', module: 'signers/local', resumed: false },
      made: { ref: 'signet-es-1', verified_signatures: 10, public_key: { jwk: { crv: 'P-256' } } },
      backend: { directory: { path: its.inFolder('data/keys') } },
    })
    const { thumbprint } = transcript.made.public_key
    expect(await its.verify('es-1')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(new RegExp(`es-1 was made: its thumbprint is ${thumbprint}[^]*Signed by au-1`)),
      stderr: expect.stringContaining('any key could have signed'),
    })
    const lines = its.auditLines()
    expect(lines.filter(({ event }) => event.startsWith('administration'))).toMatchObject([
      { event: 'administration.begun', action: 'key.ceremony', slot: 'es', present: [ada, grace] },
      { event: 'administration', kid: 'es-1', thumbprint, transcript: transcript.id },
    ])
    expect(lines.filter(({ event }) => event === 'audit.signed')).toMatchObject([
      { signatures: [{ kid: 'au-1', typ: 'key-ceremony+jwt', purpose: 'audit' }] },
    ])
    expect(lines.filter(({ event, ref }) => event === 'key.proved' && ref === 'signet-es-1')).toHaveLength(10)

    const service = await its.cli.serve(['start', '--config', 'signet.yaml'])
    const { keys } = await (await fetch(new URL('/jwks.json', service.public))).json()
    expect(keys.map(({ kid }: { kid: string }) => kid)).toContain('es-1')
    const plan = await its.cli.run(['keys', 'plan', '--config', 'signet.yaml'])
    expect(plan.stdout).toMatch(/^es: es-1 signs, es-2 from .*; it waits for a ceremony$/m)
    expect(await its.cli.run(['keys', 'rotate', '--slot', 'es', '--config', 'signet.yaml'])).toMatchObject({
      stdout: expect.stringContaining('it waits for "signet keys ceremony"'),
    })
    // The next ceremony may be held beside the running service.
    expect(await its.hold(file, both, '--out', 'es-2')).toMatchObject({ code: 0 })
    expect((await its.cli.run(['keys', 'plan', '--config', 'signet.yaml'])).stdout).toMatch(
      /^es +es-2 +(proved|published) /m,
    )
  })

  it('in a rehearsal makes nothing, records nothing, and is signed as such', async () => {
    await its.deploy([auditKey, slot])
    const file = `signer: local\nslot: es\n${people}`
    const rehearsed = await its.hold(file, both, '--dry-run', '--out', 'rehearsal', '--json')
    expect(rehearsed.code).toBe(0)
    expect(JSON.parse(rehearsed.stdout)).toMatchObject({ dry_run: true, signed: true, key: { kid: 'es-1' } })
    expect(its.readTranscript('rehearsal')).not.toHaveProperty('made')
    expect(its.read('rehearsal', 'transcript.txt')).toMatch(/^KEY CEREMONY +DRY RUN: no key is made$/m)
    expect(await its.verify('rehearsal')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('DRY RUN: no key was made (es-1)'),
    })
    expect(its.localKeys()).toEqual(['au-1'])
    expect(its.auditLines().filter(({ ref }) => ref === 'signet-es-1')).toEqual([])
    const plan = await its.cli.run(['keys', 'plan', '--config', 'signet.yaml', '--json'])
    expect(JSON.parse(plan.stdout).slots[0].keys[0]).toMatchObject({ kid: 'es-1', step: 'expected' })
    expect(await its.hold(file, both, '--out', 'es-1')).toMatchObject({ code: 0 })
    expect(its.localKeys()).toEqual(['au-1', 'signet-es-1'])
  })

  it('KR40 asks again for a name that is wrong, three times; the end of the input ends it; nothing is made', async () => {
    await its.deploy([auditKey, slot])
    const file = `signer: local\nslot: es\n${people}`
    const wrong = await its.hold(file, `${ada}\nGrace\ngrace hopper\nAda Lovelace\n${grace}\n`, '--out', 'wrong')
    expect(wrong).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('A person did not confirm: no key was made.'),
    })
    const ended = await its.hold(file, `${ada}\n`, '--out', 'ended')
    expect(ended).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('The input ended before everybody had confirmed'),
    })
    expect(its.localKeys()).toEqual(['au-1'])
    expect([existsSync(its.inFolder('wrong')), existsSync(its.inFolder('ended'))]).toEqual([false, false])
    expect(its.auditLines().filter(({ event }) => event === 'key.ceremony_refused')).toMatchObject([
      { slot: 'es', present: [ada, grace], reason: 'A person did not confirm: no key was made.' },
      { slot: 'es', reason: expect.stringContaining('The input ended') },
    ])
    expect(its.auditLines().map(({ event }) => event)).not.toContain('administration')
    const right = await its.hold(file, `${ada}\nGrace\n  ${grace}\n`, '--out', 'right')
    expect(right.code).toBe(0)
  })

  it('KR43 does not begin when its file was changed after it was shown', async () => {
    await its.deploy([auditKey, slot])
    await its.cli.write('ceremony.yaml', `signer: local\nslot: es\n${people}`)
    const { child, ended, output } = its.cli.launch([
      'keys',
      'ceremony',
      'ceremony.yaml',
      '--config',
      'signet.yaml',
      '--out',
      'changed',
    ])
    await expect.poll(output, { timeout: 20_000 }).toContain(`${ada}, security officer: `)
    await its.cli.write('ceremony.yaml', `signer: local\nslot: es\nremarks: More.\n${people}`)
    child.stdin.end(both)
    expect(await ended).toBe(1)
    expect(output()).toContain('The file of the ceremony was changed after it was shown: no key was made.')
    expect(its.localKeys()).toEqual(['au-1'])
    expect(existsSync(its.inFolder('changed'))).toBe(false)
  })
})

describe('a ceremony for a fixed key', () => {
  it('prints its entry for the file; the first key for auditors signs for itself', async () => {
    await its.deploy([])
    const file = `signer: local\nkid: au-1\nalg: EdDSA\npurposes: [audit]\n${people}`
    expect(await its.hold(file, both, '--dry-run', '--out', 'rehearsal')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('The unsigned transcript'),
    })
    expect(await its.verify('rehearsal')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('transcript.jwt: missing'),
    })
    const held = await its.hold(file, both, '--out', 'au-1')
    expect(held.code).toBe(0)
    const [entry] = parse(held.stdout.slice(held.stdout.indexOf('- kid:')))
    expect(entry).toEqual({ kid: 'au-1', alg: 'EdDSA', signer: 'local', ref: 'au-1', purposes: ['audit'] })
    const { thumbprint, jwk } = its.readTranscript('au-1').made.public_key
    await its.cli.write('auditors.json', JSON.stringify({ keys: [jwk] }))
    expect(await its.verify('au-1', '--key', 'auditors.json')).toMatchObject({
      code: 0,
      stderr: '',
      stdout: expect.stringContaining(`Signed by au-1, thumbprint ${thumbprint}`),
    })
    await its.deploy([JSON.stringify(entry), slot])
    expect(await its.hold(`signer: local\nslot: es\n${people}`, both, '--out', 'es-1')).toMatchObject({ code: 0 })
    expect(await its.verify('es-1', '--key', 'auditors.json')).toMatchObject({ code: 0, stderr: '' })
  })
})

describe('in AWS KMS', () => {
  it('the transcript has region, endpoint, account, ARN, origin and spec', async () => {
    await using double = await startKmsDouble()
    const kms = `\n  kms: { use: signers/aws-kms, options: { region: ${doubleRegion}, endpoint: '${double.endpoint}' } }`
    await its.deploy([auditKey, '{ slot: es, alg: ES256, signer: kms }'], kms)
    expect(await its.hold(`signer: kms\nslot: es\n${people}`, both, '--out', 'es-1')).toMatchObject({ code: 0 })
    const [key] = double.keys()
    expect(its.readTranscript('es-1')).toMatchObject({
      backend: { service: { region: doubleRegion, endpoint: double.endpoint } },
      made: {
        ref: key?.arn,
        attributes: { key: key?.arn, account: key?.arn.split(':')[4], origin: 'AWS_KMS', key_spec: 'ECC_NIST_P256' },
      },
    })
    expect(double.keys()).toHaveLength(1)
    expect(await its.verify('es-1')).toMatchObject({ code: 0 })
  })
})

describeWith('softhsm2', 'in a PKCS#11 token', () => {
  it('the transcript has the digest of the library, the token, its firmware and the attributes of the key', async () => {
    await using token = await makeToken()
    const options = { module: token.module, token: token.label, pin: token.pin, environment: token.environment }
    const hsm = `\n  hsm: { use: signers/pkcs11, options: ${JSON.stringify(options)} }`
    await its.deploy([auditKey], hsm)
    const held = await its.hold(
      `signer: hsm\nkid: es-2027\nalg: ES256\nref: tokens 2027\n${people}`,
      both,
      '--out',
      'es',
    )
    expect(held).toMatchObject({ code: 0 })
    const { backend, made, digests } = its.readTranscript('es')
    expect(backend.module.sha256).toBe(sha256(readFileSync(token.module)))
    expect(backend.token).toMatchObject({ label: token.label, serial: await token.serial(), model: 'SoftHSM v2' })
    expect(made.attributes).toEqual({ sensitive: true, never_extractable: true, local: true, extractable: false })
    expect(Object.keys(digests)).toEqual(['module', 'token', 'firmware', 'attributes', 'public_key'])
    expect(its.read('es', 'transcript.txt')).toContain(token.label)
    expect(await its.verify('es')).toMatchObject({ code: 0 })
    expect(
      `${held.stdout}${held.stderr}${its.read('es', 'transcript.json')}${its.read('data/audit.jsonl')}`,
    ).not.toContain(token.pin)
  })
})
