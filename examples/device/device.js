import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createDevice } from 'signet-idp/device'
import { fileKey, fileStore } from 'signet-idp/device/node'
import { api } from './api.js'

const issuer = 'http://localhost:3000'
const audience = 'https://api.bank.example'
const id = `phone-${randomUUID()}`

// An operator makes the secret, and it reaches the device together with the app.
const principal = ['--subject', 'alice', '--principal-id', id, '--type', 'device']
const issue = ['principals', 'issue', '--kind', 'bootstrap_secret', ...principal, '--json', '--config', 'signet.yaml']
const { secret } = JSON.parse((await promisify(execFile)('signet', issue)).stdout)

// On the device. A page in a browser has `indexedDbStore()` instead of the two files, and a key that no script can read.
await mkdir('data', { recursive: true })
const device = createDevice({
  issuer,
  store: fileStore('data/attestation.json'),
  key: await fileKey('data/device-key.pem'),
})
await device.enrol({
  subject: 'alice',
  principalId: id,
  principalType: 'device',
  attributes: { model: 'P1' },
  secondFactor: { kind: 'bootstrap_secret', value: secret },
})
const first = await device.attestation()
console.log('Enrolled: %s', first)

// `signet.yaml` has it renewed each second. Nobody has to ask.
while ((await device.attestation()) === first) await setTimeout(200)
console.log('Renewed with the key alone: %s', await device.attestation())

// A request to a resource server carries the attestation, and a signature of this one request.
const server = api(issuer, audience).listen(0)
await once(server, 'listening')
const url = `http://localhost:${server.address().port}/payments`
const request = await device.sign(new Request(url, { method: 'POST', body: '{"amount":5}' }), { audience })
const answer = await fetch(request.clone())
console.log('Verified: %o', await answer.json())
const again = await fetch(request)
console.log('The same request again: %s', (await again.json()).error_code)
server.close()
