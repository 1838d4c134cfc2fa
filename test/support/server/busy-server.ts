import { startServer } from './server.js'

/** A server whose event loop is held up, 300 ms again and again, from the message `busy` to the message `idle`. */
const server = await startServer()
let isBusy = false

const holdUp = (): void => {
  const until = performance.now() + 300
  while (performance.now() < until);
  if (isBusy) setImmediate(holdUp)
}

process.on('message', (message) => {
  const wasBusy = isBusy
  isBusy = message === 'busy'
  if (isBusy && !wasBusy) holdUp()
  if (message === 'stop')
    void server[Symbol.asyncDispose]().then(() => {
      process.disconnect()
    })
})
process.send?.({ issuer: server.issuer, admin: server.admin })
