/** Takes the lock of a store and keeps it until it is killed. Argument: the path of the store. */
const { fileStore } = await import(new URL('../../dist/libraries/device/node/index.js', import.meta.url))

await fileStore(process.argv[2]).exclusive(() => {
  process.send('inside')
  return new Promise(() => setInterval(() => undefined, 1000))
})
