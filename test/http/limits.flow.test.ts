import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { json } from '../../core/endpoints/message.js'
import { echo, expectGood, raw, startUntilTestEnds } from '../support/server/http-server.js'

describe('HT07: clients that are slow', () => {
  // Long enough for an honest request on a busy machine.
  const limits = { headersTimeout: 1000, requestTimeout: 2000, keepAliveTimeout: 1000, connectionsCheckingInterval: 30 }

  it('lose their connection, while others are served', async () => {
    const { port, origin } = await startUntilTestEnds({ limits })
    const slow = Promise.all([
      ...Array.from({ length: 50 }, () => raw(port, 'POST /token HTTP/1.1\r\nHost: x\r\nX-A: ')),
      ...Array.from({ length: 50 }, () =>
        raw(
          port,
          'POST /token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\na=',
        ),
      ),
      ...Array.from({ length: 20 }, () =>
        raw(
          port,
          'POST /authorize HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\n\r\na=',
        ),
      ),
    ])
    for (let round = 0; round < 20; round++) await expectGood(origin)
    for (const answer of await slow) expect(answer).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/)
    await expectGood(origin)
  })

  it('an idle connection is closed', async () => {
    const { port } = await startUntilTestEnds({ limits })
    const answer = await raw(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })

  it('a stalled connection is closed', async () => {
    const { port } = await startUntilTestEnds({
      limits: { idleTimeout: 100 },
      endpoints: { keySet: () => new Promise(() => undefined) },
    })
    expect(await raw(port, 'GET /jwks.json HTTP/1.1\r\nHost: x\r\n\r\n')).toBe('')
  })

  it('a flood of connections does not flood the log', async () => {
    const { port, log } = await startUntilTestEnds({ limits: { maxConnections: 1 } })
    const held = connect(port, '127.0.0.1')
    await once(held, 'connect')
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    try {
      for (let count = 0; count < 6; count++) await raw(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
      vi.advanceTimersByTime(1000)
    } finally {
      vi.useRealTimers()
    }
    const warnings = log.lines
      .filter(({ level }) => level === 'warn')
      .map(({ message, fields }) => ({ message, ...fields }))
    expect(warnings).toEqual([
      { message: 'A connection was refused: too many are open' },
      { message: 'More connections were refused', count: 5 },
    ])
    held.destroy()
  })

  it('connections over the limit are refused, and logged', async () => {
    const { port, log, origin } = await startUntilTestEnds({ limits: { maxConnections: 2 } })
    const held = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')]
    await Promise.all(held.map((socket) => once(socket, 'connect')))
    expect(await raw(port, 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')).toBe('')
    expect(log.lines.some((line) => line.level === 'warn' && line.message.startsWith('A connection was refused'))).toBe(
      true,
    )
    await Promise.all(held.map((socket) => once(socket.destroy(), 'close')))
    await expect
      .poll(() =>
        expectGood(origin).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true)
  })
})

describe('the deadline of a request', () => {
  it('aborts its signal, and the client gets 503', async () => {
    const { origin, log } = await startUntilTestEnds({
      requestBudgetMs: 50,
      endpoints: {
        keySet: async (request) => {
          await once(request.signal, 'abort')
          request.signal.throwIfAborted()
          return json(200, {})
        },
        // Rejects with an AbortError, as what node and the drivers do.
        home: async (request) => setTimeout(60_000, json(200, {}), { signal: request.signal }),
      },
    })
    const replies = await Promise.all(['/jwks.json', '/jwks.json', '/'].map((path) => fetch(`${origin}${path}`)))
    for (const reply of replies) {
      expect(reply.status).toBe(503)
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(await replies[0]?.json()).toMatchObject({ error: 'temporarily_unavailable' })
    expect(log.lines.filter(({ fields }) => fields['component'] === 'deadline')).toHaveLength(3)
  })
})

describe('a graceful stop', () => {
  it('finishes requests in flight with Connection: close, and accepts no more', async () => {
    let arrived = (): void => undefined
    let release = (): void => undefined
    const inside = new Promise<void>((resolve) => (arrived = resolve))
    const held = new Promise<void>((resolve) => (release = resolve))
    const server = await startUntilTestEnds({
      endpoints: {
        token: async (request) => {
          arrived()
          await held
          return echo(request)
        },
      },
    })
    const idle = connect(server.port, '127.0.0.1')
    await once(idle, 'connect')
    const reply = fetch(`${server.origin}/token`, { method: 'POST', body: new URLSearchParams({ a: '1' }) })
    await inside
    let closed = false
    const closing = server.close(10_000).then(() => (closed = true))
    await once(idle.resume(), 'close')
    await expect(fetch(`${server.origin}/jwks.json`)).rejects.toThrow()
    expect(closed).toBe(false)
    release()
    const answer = await reply
    expect(answer.headers.get('connection')).toBe('close')
    expect(await answer.json()).toMatchObject({ form: { a: '1' } })
    await closing
  })

  it('closes connections that outlast the grace period', async () => {
    let arrived = (): void => undefined
    const inside = new Promise<void>((resolve) => (arrived = resolve))
    const server = await startUntilTestEnds({
      endpoints: {
        keySet: () => {
          arrived()
          return new Promise(() => undefined)
        },
      },
    })
    const answer = raw(server.port, 'GET /jwks.json HTTP/1.1\r\nHost: x\r\n\r\n')
    await inside
    await server.close(20)
    expect(await answer).toBe('')
  })
})
