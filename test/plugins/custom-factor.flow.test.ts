import { createHmac } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDevice, decodeJws } from '../support/clients/attestation.js'
import { writeDocumented } from '../support/document.js'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

const secret = 'a secret of the factory, of this test'
const identity = { subject: 'plant-7', principal_id: 'meter-1', principal_type: 'device' }

let cli: CommandLine
let service: Service
beforeAll(async () => {
  cli = await openCommandLine()
  writeDocumented(cli.folder, 'docs/attestation-factors.md', ['factory.js'])
  const text = configuration(`  - { use: ./factory.js, options: { secret: '${secret}' } }\nattestation: {}`)
  const key = '  - { kid: es-1, alg: ES256, signer: local, ref: es-1 }'
  await cli.write('signet.yaml', text.replace('plugins:', `${key}\nplugins:`))
  service = await cli.serve(['start', '--config', 'signet.yaml'])
})
afterAll(() => cli[Symbol.asyncDispose]())

const sealFor = (jkt: string) => {
  const names = JSON.stringify([...Object.values(identity), jkt])
  return { second_factor: { kind: 'factory', value: createHmac('sha256', secret).update(names).digest('base64url') } }
}

it('the documented factor enrols a sealed key, once, and grants attributes', async () => {
  const device = await createDevice(service.public, { ...identity, attributes: { model: 'M1' } })
  const enrolled = await device.enrol(sealFor(device.jkt))
  const completed = await device.complete(enrolled.body['challenge'])
  const { payload } = decodeJws(String(completed.body['attestation']))
  expect(payload['att']).toEqual({ model: 'M1', origin: 'factory', status: 'active' })
  expect(await device.enrol(sealFor(device.jkt))).toMatchObject({ status: 401 })
})

it('the documented factor refuses other keys and devices', async () => {
  const device = await createDevice(service.public, identity)
  const thief = await createDevice(service.public, identity)
  expect(await thief.enrol(sealFor(device.jkt))).toMatchObject({ status: 401 })
  expect(await device.enrol({ ...sealFor(device.jkt), principal_id: 'meter-2' })).toMatchObject({ status: 401 })
  expect(await device.enrol({ second_factor: { kind: 'factory', value: '' } })).toMatchObject({ status: 401 })
  expect(await device.enrol(sealFor(device.jkt))).toMatchObject({ status: 200 })
})
