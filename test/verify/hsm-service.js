/** A service with a key in an HSM: it enrols, and at each line of its input calls every API once. The order is JSON. */
import { createInterface } from 'node:readline'
const from = (name) => import(new URL(`../../dist/libraries/device/${name}`, import.meta.url))
const { createDevice, memoryStore } = await from('index.js')
const { pkcs11Key } = await from('node/index.js')

const { issuer, key: options, principal, secret, audience, apis } = JSON.parse(process.argv[2])
const key = await pkcs11Key(options)
const service = createDevice({ issuer, store: memoryStore(), key })
await service.enrol({ ...principal, secondFactor: { kind: 'bootstrap_secret', value: secret } })

const call = async (api) => {
  const request = new Request(`${api}/payments?from=1`, { method: 'POST', body: 'five' })
  const response = await fetch(await service.sign(request, { audience }))
  return { status: response.status, ...(await response.json()) }
}
for await (const line of createInterface({ input: process.stdin }))
  if (line === 'call') console.log(JSON.stringify(await Promise.all(apis.map(call))))
await key[Symbol.asyncDispose]()
