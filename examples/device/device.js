import { execFile } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { promisify } from 'node:util'
import { exportJWK, SignJWT } from 'jose'
import { enrol, newKeys, renew } from './attest.js'
import { createVerifier } from './verify.js'

const issuer = 'http://localhost:3000'
const api = 'https://api.bank.example'
const id = `phone-${randomUUID()}`

// An operator makes the secret, and it reaches the device together with the app.
const principal = ['--subject', 'alice', '--principal-id', id, '--type', 'device']
const issue = ['principals', 'issue', '--kind', 'bootstrap_secret', ...principal, '--json', '--config', 'signet.yaml']
const { secret } = JSON.parse((await promisify(execFile)('signet', issue)).stdout)

// On the device. The private key cannot leave it.
const keys = await newKeys()
const device = { subject: 'alice', principal_id: id, principal_type: 'device', attributes: { model: 'P1' } }
const { attestation } = await enrol(issuer, keys, device, { kind: 'bootstrap_secret', value: secret })
console.log('Enrolled: %s', attestation)
const renewed = await renew(issuer, keys, attestation)
console.log('Renewed with the key alone: %s', renewed.attestation)

// A request to a resource server carries the attestation, and a proof that the sender has the key.
const proof = await new SignJWT({ ath: createHash('sha256').update(renewed.attestation).digest('base64url') })
  .setProtectedHeader({ alg: 'ES256', typ: 'request-proof+jwt', jwk: await exportJWK(keys.publicKey) })
  .setAudience(api)
  .setIssuedAt()
  .setJti(randomUUID())
  .sign(keys.privateKey)

// At the resource server.
const heard = new Set()
const verify = createVerifier(issuer, api, (proofId) => !heard.has(proofId) && heard.add(proofId) !== undefined)
console.log('Verified: %o', await verify(renewed.attestation, proof))
await verify(renewed.attestation, proof).catch((error) => console.log('The same proof again: %s', error.message))
