import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/** Below those that Linux gives to clients: a restarted server finds its port as it left it. */
const range = { from: 20_000, to: 32_000 }
let next = randomInt(range.from, range.to)

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return false
    throw error
  }
  server.close()
  await once(server, 'close')
  return true
}

/** A port of loopback that was free a moment ago: an issuer must name its port before it listens. */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = next
    next = port + 1 < range.to ? port + 1 : range.from
    if (await isFree(port)) return port
  }
}
