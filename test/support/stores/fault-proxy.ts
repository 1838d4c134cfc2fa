import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'

/** `lose-reply`: it arrives and is obeyed; the answer does not come back, and the connection ends when it should. */
export type RequestFate = 'forward' | 'swallow' | 'cut' | 'lose-reply'

/** What goes wrong. Changes hold for the next message of every connection, open or new. */
export interface Faults {
  /** Milliseconds that each message is late, each way. */
  latencyMs: number
  /** Messages go in and none comes out, either way; connections stay open, and new ones are accepted. */
  blackHole: boolean
  /** What becomes of a message to the server; default: forwarded. */
  onRequest: ((message: Buffer) => RequestFate) | undefined
  /** What is delivered for a message of the server; undefined: nothing; default: the message. */
  onReply: ((message: Buffer) => Buffer | undefined) | undefined
}

export interface FaultProxy extends AsyncDisposable {
  readonly port: number
  readonly faults: Faults
  /** Connections that are open. */
  connections(): number
  /** Ends all connections at once with a reset; new ones are accepted. */
  cut(): void
  /** Cuts, and refuses new connections until `up`. */
  down(): Promise<void>
  up(): Promise<void>
  /** No faults from now on, and listening. What was swallowed stays so. */
  heal(): Promise<void>
}

export interface FaultProxyOptions {
  /** Of the server; default: loopback. */
  readonly host?: string
  readonly port: number
  /** Length of the first message in the buffer, undefined while that is not known; absent: what was read at once is a message. */
  readonly messageLength?: (buffer: Buffer) => number | undefined
}

/** OP_MSG and its kin begin with their length, an int32 (MongoDB Wire Protocol, standard message header). */
export const mongoMessageLength = (buffer: Buffer): number | undefined =>
  buffer.length < 4 ? undefined : buffer.readInt32LE(0)

type MessageLength = FaultProxyOptions['messageLength']

/** Cuts a stream into messages. */
const splitter = (messageLength: MessageLength) => {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk: Buffer): readonly Buffer[] => {
    if (messageLength === undefined) return [chunk]
    rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const messages: Buffer[] = []
    for (
      let length = messageLength(rest);
      length !== undefined && rest.length >= length;
      length = messageLength(rest)
    ) {
      messages.push(rest.subarray(0, length))
      rest = rest.subarray(length)
    }
    return messages
  }
}

/** Delivers in order, each after the latency that holds when it comes. */
const late = (faults: Faults, act: (message: Buffer) => void) => {
  const queue: Buffer[] = []
  let lastDue = 0
  return (message: Buffer): void => {
    queue.push(message)
    const due = Math.max(performance.now() + faults.latencyMs, lastDue)
    lastDue = due
    const deliver = () => {
      const wait = due - performance.now()
      // A timer may fire a moment early.
      if (wait > 0) setTimeout(deliver, wait)
      else act(queue.shift() as Buffer)
    }
    if (queue.length === 1) deliver()
    else setTimeout(deliver, due - performance.now())
  }
}

const join = (client: Socket, server: Socket, faults: Faults, messageLength: MessageLength): void => {
  let losing = false
  const end = () => {
    client.resetAndDestroy()
    server.resetAndDestroy()
  }
  const toServer = late(faults, (message) => {
    if (faults.blackHole || server.destroyed) return
    const fate = faults.onRequest?.(message) ?? 'forward'
    if (fate === 'swallow') return
    if (fate === 'cut') return end()
    losing ||= fate === 'lose-reply'
    server.write(message)
  })
  const toClient = late(faults, (message) => {
    if (faults.blackHole || client.destroyed) return
    if (losing) return end()
    const delivered = faults.onReply === undefined ? message : faults.onReply(message)
    if (delivered !== undefined) client.write(delivered)
  })
  const requests = splitter(messageLength)
  const replies = splitter(messageLength)
  client.on('data', (chunk: Buffer) => requests(chunk).forEach(toServer))
  server.on('data', (chunk: Buffer) => replies(chunk).forEach(toClient))
  for (const socket of [client, server]) socket.setNoDelay(true).on('error', end).on('close', end)
}

/** A TCP proxy on a port of its own that is slow, deaf, broken or a liar on request. */
export const openFaultProxy = async ({
  host = '127.0.0.1',
  port: target,
  messageLength,
}: FaultProxyOptions): Promise<FaultProxy> => {
  const faults: Faults = { latencyMs: 0, blackHole: false, onRequest: undefined, onReply: undefined }
  const clients = new Set<Socket>()
  const server = createServer((client) => {
    clients.add(client)
    client.on('close', () => clients.delete(client))
    join(client, connect(target, host), faults, messageLength)
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  await listen(0)
  const { port } = server.address() as AddressInfo

  const cut = () => {
    for (const client of clients) client.resetAndDestroy()
  }
  const down = async () => {
    if (!server.listening) return
    server.close()
    cut()
    await once(server, 'close')
  }
  const up = async () => {
    if (!server.listening) await listen(port)
  }
  return {
    port,
    faults,
    connections: () => clients.size,
    cut,
    down,
    up,
    heal: async () => {
      Object.assign(faults, { latencyMs: 0, blackHole: false, onRequest: undefined, onReply: undefined })
      await up()
    },
    [Symbol.asyncDispose]: down,
  }
}
