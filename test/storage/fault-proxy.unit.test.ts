import { once } from 'node:events'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { mongoMessageLength, openFaultProxy, type FaultProxy } from '../support/stores/fault-proxy.js'

// The proxy does what the tests of faults believe it does, else they prove nothing.

/** A message of the length-prefixed form. */
const message = (text: string): Buffer => {
  const head = Buffer.alloc(4)
  head.writeInt32LE(4 + text.length)
  return Buffer.concat([head, Buffer.from(text)])
}

describe('the fault proxy', () => {
  const heard: Buffer[] = []
  const echo = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      heard.push(chunk)
      socket.write(chunk)
    })
  })
  let proxy: FaultProxy
  const open: Socket[] = []
  beforeAll(async () => {
    echo.listen(0, '127.0.0.1')
    await once(echo, 'listening')
    const { port } = echo.address() as AddressInfo
    proxy = await openFaultProxy({ port, messageLength: mongoMessageLength })
  })
  afterEach(async () => {
    for (const socket of open.splice(0)) socket.destroy()
    heard.length = 0
    await proxy.heal()
  })
  afterAll(async () => {
    await proxy[Symbol.asyncDispose]()
    echo.close()
  })

  const call = async () => {
    const socket = connect(proxy.port, '127.0.0.1')
    socket.on('error', () => {})
    open.push(socket)
    await once(socket, 'connect')
    return socket
  }
  const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve))
  const read = async (socket: Socket) => ((await once(socket, 'data')) as [Buffer])[0]

  it('forwards everything in order, in whole messages', async () => {
    const socket = await call()
    const texts = Array.from({ length: 100 }, (_, n) => `message ${n} ${'x'.repeat(n * 1000)}`)
    const sent = Buffer.concat(texts.map(message))
    for (const part of [sent.subarray(0, 2), sent.subarray(2, 33), sent.subarray(33)]) socket.write(part)
    let received = Buffer.alloc(0)
    while (received.length < sent.length) received = Buffer.concat([received, await read(socket)])
    expect(received.equals(sent)).toBe(true)
  })

  it('delays both directions', async () => {
    const socket = await call()
    proxy.faults.latencyMs = 50
    const begun = performance.now()
    socket.write(message('slow'))
    await once(socket, 'data')
    expect(performance.now() - begun).toBeGreaterThanOrEqual(100)
  })

  it('swallows, cuts, and loses the reply to what has arrived', async () => {
    proxy.faults.onRequest = (request) => (request.includes('lost') ? 'swallow' : 'forward')
    const socket = await call()
    socket.write(Buffer.concat([message('lost'), message('kept')]))
    expect((await read(socket)).toString()).toContain('kept')
    expect(Buffer.concat(heard).toString()).not.toContain('lost')

    proxy.faults.onRequest = () => 'lose-reply'
    const got: Buffer[] = []
    socket.on('data', (chunk) => got.push(chunk))
    socket.write(message('obeyed'))
    await closed(socket)
    expect(Buffer.concat(heard).toString()).toContain('obeyed')
    expect(got).toEqual([])

    proxy.faults.onRequest = () => 'cut'
    const next = await call()
    next.write(message('never'))
    await closed(next)
    expect(Buffer.concat(heard).toString()).not.toContain('never')
  })

  it('edits replies', async () => {
    proxy.faults.onReply = (reply) => Buffer.from(reply.toString('latin1').replace('good', 'evil'), 'latin1')
    const socket = await call()
    socket.write(message('good'))
    expect((await read(socket)).toString()).toContain('evil')
  })

  it('is a black hole that still accepts, goes down and comes up, and forgets all faults when healed', async () => {
    const socket = await call()
    proxy.faults.blackHole = true
    const got: Buffer[] = []
    socket.on('data', (chunk) => got.push(chunk))
    socket.write(message('swallowed'))
    await call()
    expect(proxy.connections()).toBe(2)
    expect(got).toEqual([])

    const ended = closed(socket)
    await proxy.down()
    await ended
    expect(proxy.connections()).toBe(0)
    const refused = connect(proxy.port, '127.0.0.1')
    const [error] = (await once(refused, 'error')) as [NodeJS.ErrnoException]
    expect(error.code).toBe('ECONNREFUSED')

    await proxy.heal()
    const again = await call()
    again.write(message('back'))
    expect((await read(again)).toString()).toContain('back')
    expect(Buffer.concat(heard).toString()).not.toContain('swallowed')
  })
})
