import { generateKeyPairSync, sign } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createDevice, decodeJws, doublePlugin, postJson } from '../support/clients/attestation.js'
import { writeDocumented } from '../support/document.js'
import { startFactorServer, type FactorServer } from '../support/server/factor-server.js'

const factory = generateKeyPairSync('ed25519')

let folder: string
let server: FactorServer
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'signet-evidence-'))
  writeDocumented(folder, 'docs/attestation-evidence.md', ['chip.js'])
  const factory_key = factory.publicKey.export({ type: 'spki', format: 'pem' }) as string
  server = await startFactorServer([
    doublePlugin({ name: 'custom-evidence' }),
    { use: join(folder, 'chip.js'), options: { factory_key } },
  ])
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

it('the documented kind says what it knows of a key that the factory signed, and of no other', async () => {
  const [device, thief] = [await createDevice(server.issuer), await createDevice(server.issuer)]
  const challenge = String((await postJson(`${server.issuer}/challenge`, {})).body['attestation_challenge'])
  const signature = sign(null, Buffer.from(`${challenge} ${device.jkt}`), factory.privateKey).toString('base64url')
  const evidence = { kind: 'chip', challenge, signature }
  expect((await thief.enrol({ evidence })).body['error_code']).toBe('EvidenceInvalid')
  expect((await device.enrol({ evidence: { ...evidence, signature: 1 } })).body['error_code']).toBe('EvidenceInvalid')
  const { body } = await device.enrol({ evidence })
  const completed = await device.complete(body['challenge'])
  const { payload } = decodeJws(String(completed.body['attestation']))
  expect(payload['key_storage']).toEqual(['https://chips.example/levels/sealed'])
})
