/** A service with a key in an HSM, which enrols it, signs, and loses its session. The order is JSON; prints what came of it. */
import { createRequire } from 'node:module'
const from = (name) => import(new URL(`../../dist/libraries/device/${name}`, import.meta.url))
const { createDevice, memoryStore } = await from('index.js')
const { pkcs11Key } = await from('node/index.js')

const { issuer, key: options, wrongPin } = JSON.parse(process.argv[2])
const found = {}
const told = (error) => ({ errorCode: error.errorCode, cause: error.cause?.message })
for (const [name, change] of [
  ['wrongPin', { pin: wrongPin }],
  ['noToken', { token: 'another' }],
  ['noKey', { label: 'another' }],
  ['otherCurve', { label: 'p384' }],
  ['noModule', { module: '/nowhere.so' }],
])
  found[name] = await pkcs11Key({ ...options, ...change }).then(() => 'opened', told)

const key = await pkcs11Key(options)
const device = createDevice({ issuer, store: memoryStore(), key })
const principal = { subject: 'library', principalId: 'hsm-1', principalType: 'service' }
await device.enrol({ ...principal, secondFactor: { kind: 'word', value: 'right' } })
found.attestation = await device.attestation()
found.publicJwk = key.publicJwk
const sign = async () => {
  const request = new Request('https://api.example/pay', { method: 'POST', body: 'five' })
  return (await device.sign(request, { audience: 'https://api.example' })).headers.get('x-signature')
}
found.signatures = await Promise.all(Array.from({ length: 20 }, sign))

const pkcs11js = createRequire(import.meta.url)('pkcs11js')
const library = new pkcs11js.PKCS11()
library.load(options.module)
for (const slot of library.C_GetSlotList(true)) library.C_CloseAllSessions(slot)
found.signatures.push(await sign())
process.stdout.write(JSON.stringify(found))
await key[Symbol.asyncDispose]()
