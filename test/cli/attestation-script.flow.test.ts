import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDevice, decodeJws, type Device } from '../support/clients/attestation.js'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

// What an operator and two principals do, from the first secret to the last refusal: commands of the product, and
// nothing but WebCrypto and fetch against it.

const plugins = `  - { use: plugins/attestation/totp, options: { sealing_key: { $file: ./sealing-key } } }
  - use: plugins/attestation/bootstrap
  - use: plugins/attestation/registry
attestation: { signing_alg: EdDSA }
`

let cli: CommandLine
let running: Service
beforeAll(async () => {
  cli = await openCommandLine()
  await cli.write('sealing-key', 'QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY')
  await cli.write('signet.yaml', configuration(plugins))
  running = await cli.serve(['start', '--config', 'signet.yaml'])
})
afterAll(() => cli[Symbol.asyncDispose]())

const phone = { subject: 'alice', principal_id: 'phone-1', principal_type: 'device' }
const batch = { subject: 'payments', principal_id: 'batch-7', principal_type: 'service' }

const principals = async (command: string, { subject, principal_id, principal_type }: typeof phone, more: string[]) => {
  const whom = ['--subject', subject, '--principal-id', principal_id, '--type', principal_type]
  const { code, stdout, stderr } = await cli.run(['principals', command, ...whom, ...more, '--config', 'signet.yaml'])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
}

const issue = async (principal: typeof phone, kind: string): Promise<string> =>
  JSON.parse(await principals('issue', principal, ['--kind', kind, '--json'])).secret

/** What an authenticator shows now (RFC 6238 §4, RFC 4226 §5.3). */
const oneTimePassword = async (base32: string): Promise<string> => {
  const bits = Array.from(base32, (letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2))
    .map((five) => five.padStart(5, '0'))
    .join('')
  const secret = Uint8Array.from(bits.match(/.{8}/g) ?? [], (eight) => parseInt(eight, 2))
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-1' }, false, ['sign'])
  const step = new DataView(new ArrayBuffer(8))
  step.setBigUint64(0, BigInt(Math.floor(Date.now() / 30_000)))
  const mac = new DataView(await crypto.subtle.sign('HMAC', key, step))
  const code = mac.getUint32(mac.getUint8(19) & 15) & 0x7fffffff
  return String(code % 1_000_000).padStart(6, '0')
}

/** With the key that is published, by WebCrypto alone. */
const verifies = async (attestation: string): Promise<boolean> => {
  const { keys } = (await (await fetch(`${running.public}/jwks.json`)).json()) as {
    keys: (JsonWebKey & { kid: string })[]
  }
  const { kty = '', crv = '', x = '' } = keys.find(({ kid }) => kid === decodeJws(attestation).header['kid']) ?? {}
  const key = await crypto.subtle.importKey('jwk', { kty, crv, x }, 'Ed25519', false, ['verify'])
  const [header = '', payload = '', signature = ''] = attestation.split('.')
  return crypto.subtle.verify('Ed25519', key, Buffer.from(signature, 'base64url'), Buffer.from(`${header}.${payload}`))
}

const renewed = async (device: Device, attestation: string): Promise<string> => {
  const next = await device.renew(attestation)
  expect(next).not.toBe(attestation)
  expect(decodeJws(next).payload['cnf']).toEqual({ jkt: device.jkt })
  expect(await verifies(next)).toBe(true)
  return next
}

const refusal = ({ status, body }: Awaited<ReturnType<Device['reissue']>>) => [
  status,
  body['error'],
  body['error_code'],
]

it('enrols a device with TOTP and a service with a bootstrap secret, renews both, and refuses the revoked', async () => {
  const value = await oneTimePassword(await issue(phone, 'totp'))
  const device = await createDevice(running.public, { ...phone, second_factor: { kind: 'totp', value } })
  const secret = await issue(batch, 'bootstrap_secret')
  const second_factor = { kind: 'bootstrap_secret', value: secret }
  const service = await createDevice(running.public, { ...batch, second_factor, attributes: { region: 'eu' } })

  const [ofDevice, ofService] = [await device.attest(), await service.attest()]
  for (const attestation of [ofDevice, ofService]) expect(await verifies(attestation)).toBe(true)
  expect(decodeJws(ofDevice).payload).toMatchObject({ sub: 'alice', did: 'phone-1', principal_type: 'device' })
  expect(decodeJws(ofService).payload).toMatchObject({
    sub: 'payments',
    did: 'batch-7',
    principal_type: 'service',
    att: { region: 'eu', status: 'active' },
  })
  // Neither factor works again.
  for (const enrolled of [device, service])
    expect(refusal(await enrolled.enrol())).toEqual([401, 'invalid_grant', 'SecondFactorFailed'])

  const nextOfDevice = await renewed(device, ofDevice)
  const nextOfService = await renewed(service, ofService)

  // Between the question and its answer too.
  const { challenge } = (await device.reissue(nextOfDevice)).body
  await principals('revoke', phone, [])
  expect(refusal(await device.complete(challenge))).toEqual([403, 'access_denied', 'PrincipalRevoked'])
  expect(refusal(await device.reissue(nextOfDevice))).toEqual([403, 'access_denied', 'PrincipalRevoked'])
  await renewed(service, nextOfService)
  await principals('revoke', batch, [])
  expect(refusal(await service.reissue(nextOfService))).toEqual([403, 'access_denied', 'PrincipalRevoked'])

  await principals('restore', phone, [])
  await renewed(device, nextOfDevice)
})
