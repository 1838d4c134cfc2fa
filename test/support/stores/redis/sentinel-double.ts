import { EventEmitter, once } from 'node:events'
import { createServer, type Socket } from 'node:net'

/** A double of a sentinel: it knows one primary, and its answers and messages come when the test says so. */
export interface SentinelDouble extends AsyncDisposable {
  readonly port: number
  /** Resolves when somebody who asks for the primary has been left without an answer. */
  holdAnswers(): Promise<unknown>
  /** Answers those who were left, and everybody from now on. */
  release(): void
  /** Tells all subscribers that there is another primary. Resolves when they have hung up, as ioredis does. */
  tellSwitched(): Promise<unknown>
  /** Resolves when somebody listens for another primary. */
  readonly subscribed: Promise<unknown>
}

const bulk = (text: string): string => `$${String(text.length)}\r\n${text}\r\n`
const list = (...items: readonly string[]): string => `*${String(items.length)}\r\n${items.join('')}`
const channel = '+switch-master'

export const startSentinelDouble = async (primaryPort: number): Promise<SentinelDouble> => {
  const sockets = new Set<Socket>()
  const subscribers = new Set<Socket>()
  const left: Socket[] = []
  const events = new EventEmitter()
  const subscribed = once(events, 'subscribed')
  let isHeld = false
  const primary = list(bulk('127.0.0.1'), bulk(String(primaryPort)))

  const answer = (socket: Socket, command: string): void => {
    if (command.includes('get-master-addr-by-name')) {
      if (!isHeld) return void socket.write(primary)
      left.push(socket)
      return void events.emit('asked')
    }
    if (command.includes('subscribe')) {
      subscribers.add(socket)
      socket.write(list(bulk('subscribe'), bulk(channel), ':1\r\n'))
      return void events.emit('subscribed')
    }
    socket.write(command.includes('sentinels') ? list() : '+OK\r\n')
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => {
      sockets.delete(socket)
      subscribers.delete(socket)
    })
    socket.on('data', (data) => {
      for (const command of data
        .toString()
        .toLowerCase()
        .split(/(?=\*\d)/))
        answer(socket, command)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return {
    port,
    holdAnswers: () => {
      isHeld = true
      return once(events, 'asked')
    },
    release: () => {
      isHeld = false
      for (const socket of left.splice(0)) socket.write(primary)
    },
    tellSwitched: () => {
      const gone = [...subscribers].map((socket) => once(socket, 'close'))
      for (const socket of subscribers) socket.write(list(bulk('message'), bulk(channel), bulk('signet')))
      return Promise.all(gone)
    },
    subscribed,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}
