/** A process of a service that shares key and store with others. Arguments: issuer, path, seconds that its clock is ahead. */
const from = (name) => import(new URL(`../../dist/libraries/device/${name}`, import.meta.url))
const { createDevice } = await from('index.js')
const { fileKey, fileStore } = await from('node/index.js')

const [, , issuer, path, ahead] = process.argv
const store = fileStore(path)
const clock = () => Date.now() + 1000 * Number(ahead)
const device = createDevice({ issuer, store, key: await fileKey(`${path}.pem`), clock })

process.once('message', async () => {
  await Promise.all([device.attestation(), device.attestation()])
  // Behind the renewal.
  await store.exclusive(async () => undefined)
  process.send(await device.attestation(), () => process.disconnect())
})
process.send('ready')
