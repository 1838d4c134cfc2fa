import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDevice, decodeJws, type DeviceOptions } from '../support/clients/attestation.js'
import { showPassword } from '../support/clients/second-factor.js'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

// A service in a process of its own, factors from the command line, devices with WebCrypto and fetch alone.

const sealingKey = 'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY'
const plugins = `  - { use: plugins/attestation/totp, options: { sealing_key: { $file: ./sealing.key } } }
  - { use: plugins/attestation/bootstrap, options: { expires_secs: 600 } }
attestation: { attestation_ttl_secs: 3600, attestation_reissue_after_secs: 1800 }`
const combined = plugins.replace(
  'attestation: {',
  '  - { use: plugins/attestation/combination, options: { kind: both, all: [bootstrap_secret, totp] } }\nattestation: {',
)
const keys = '  - { kid: es-1, alg: ES256, signer: local, ref: es-1 }\nplugins:'

let cli: CommandLine
let service: Service
const secrets: string[] = []
const started: Service[] = []

const start = async (file: string): Promise<Service> => {
  const running = await cli.serve(['start', '--config', file])
  started.push(running)
  return running
}

beforeAll(async () => {
  cli = await openCommandLine()
  await cli.write('sealing.key', `${sealingKey}\n`)
  await cli.write('signet.yaml', configuration(plugins).replace('plugins:', keys))
  await cli.write('both.yaml', configuration(combined).replace('plugins:', keys))
  service = await start('signet.yaml')
})
afterAll(() => cli[Symbol.asyncDispose]())

const issue = async (kind: string, { subject, principal_id, principal_type }: DeviceOptions): Promise<string> => {
  const flags = { kind, subject, 'principal-id': principal_id, type: principal_type, config: 'signet.yaml' }
  const args = Object.entries(flags).flatMap(([name, value]) => [`--${name}`, value ?? ''])
  const { stdout, stderr } = await cli.run(['principals', 'issue', ...args, '--json'])
  expect(stderr).toBe('')
  const { secret } = JSON.parse(stdout) as { secret: string }
  secrets.push(secret)
  return secret
}

const factor = (kind: string, value: string) => {
  secrets.push(value)
  return { second_factor: { kind, value } }
}

/** Bytes that say nothing of what was wrong. */
const refusal = {
  error: 'invalid_grant',
  error_description: 'The second factor was not accepted.',
  error_code: 'SecondFactorFailed',
}

it('enrols a device with a one-time password, once, and renews without', async () => {
  const identity = { subject: 'alice', principal_id: 'phone-1', principal_type: 'device' }
  const secret = await issue('totp', identity)
  const password = showPassword(secret, Date.now())
  const device = await createDevice(service.public, { ...identity, ...factor('totp', password) })
  const attestation = await device.attest()
  expect(decodeJws(attestation).payload).toMatchObject({ sub: 'alice', did: 'phone-1', cnf: { jkt: device.jkt } })
  await device.renew(attestation)

  const again = await device.enrol()
  expect({ status: again.status, body: again.body }).toEqual({ status: 401, body: refusal })
  const thief = await createDevice(service.public, { ...identity, ...factor('totp', password) })
  expect(await thief.enrol()).toMatchObject({ status: 401, body: refusal })
})

it('enrols a service with a bootstrap secret, once, and renews without', async () => {
  const identity = { subject: 'payments', principal_id: 'worker-1', principal_type: 'service' }
  const secret = await issue('bootstrap_secret', identity)
  const stranger = await createDevice(service.public, {
    ...identity,
    principal_id: 'worker-2',
    ...factor('bootstrap_secret', secret),
  })
  expect(await stranger.enrol()).toMatchObject({ status: 401, body: refusal })
  const worker = await createDevice(service.public, { ...identity, ...factor('bootstrap_secret', secret) })
  await worker.renew(await worker.attest())
  expect(await worker.enrol()).toMatchObject({ status: 401, body: refusal })
})

it('answers a wrong factor and an unknown principal with the same bytes', async () => {
  const identity = { subject: 'dave', principal_id: 'phone-4', principal_type: 'device' }
  await issue('totp', identity)
  for (const kind of ['totp', 'bootstrap_secret', 'there is none']) {
    const answers = []
    for (const subject of ['dave', 'nobody']) {
      const device = await createDevice(service.public, { ...identity, subject, ...factor(kind, 'canary-value') })
      answers.push(await device.enrol())
    }
    const [known, unknown] = answers.map(({ status, text }) => ({ status, text }))
    expect(known).toEqual({ status: 401, text: JSON.stringify(refusal) })
    expect(unknown).toEqual(known)
  }
})

it('requires both parts of a combination, and accepts neither alone', async () => {
  const identity = { subject: 'erin', principal_id: 'phone-5', principal_type: 'device' }
  const [bootstrap, totp] = [await issue('bootstrap_secret', identity), await issue('totp', identity)]
  const both = await start('both.yaml')
  const password = showPassword(totp, Date.now())
  const device = await createDevice(both.public, identity)
  const enrol = (kind: string, value: unknown) =>
    device.enrol(factor(kind, typeof value === 'string' ? value : JSON.stringify(value)))
  const proofs = [
    { kind: 'bootstrap_secret', value: bootstrap },
    { kind: 'totp', value: password },
  ]
  expect(await enrol('totp', password)).toMatchObject({ status: 401, body: refusal })
  expect(await enrol('bootstrap_secret', bootstrap)).toMatchObject({ status: 401, body: refusal })
  expect(await enrol('both', proofs.slice(0, 1))).toMatchObject({ status: 401, body: refusal })
  expect(await enrol('both', [proofs[0], { kind: 'totp', value: '000000' }])).toMatchObject({ status: 401 })
  const enrolled = await enrol('both', proofs)
  expect(enrolled.status).toBe(200)
  expect(await device.complete(enrolled.body['challenge'])).toMatchObject({ status: 200 })
  expect(await enrol('both', proofs)).toMatchObject({ status: 401, body: refusal })
})

it('remembers used factors over a restart', async () => {
  const identity = { subject: 'frank', principal_id: 'phone-6', principal_type: 'device' }
  const password = showPassword(await issue('totp', identity), Date.now())
  const device = await createDevice(service.public, { ...identity, ...factor('totp', password) })
  expect((await device.enrol()).status).toBe(200)
  service.child.kill('SIGKILL')
  await service.ended
  service = await start('signet.yaml')
  const other = await createDevice(service.public, { ...identity, ...factor('totp', password) })
  expect(await other.enrol()).toMatchObject({ status: 401, body: refusal })
})

it('records the kind of factor in the audit log, and a value in neither log', async () => {
  const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
  expect(audit).toContain('"payments"')
  for (const reason of ['wrong one-time password', 'it was already used', 'the bootstrap secret is wrong, expired'])
    expect(audit).toContain(reason)
  for (const secret of [...secrets, sealingKey].filter((one) => one.length > 6)) {
    expect(audit).not.toContain(secret)
    for (const one of started) expect(one.output()).not.toContain(secret)
  }
  // A password of six digits may be part of a number; quoted, or behind a colon, it is itself.
  for (const password of secrets.filter((one) => one.length === 6)) expect(audit).not.toContain(`"${password}"`)
})
