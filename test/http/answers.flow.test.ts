import { describe, expect, it } from 'vitest'
import { json } from '../../core/endpoints/message.js'
import { raw, startFixture, startUntilTestEnds } from '../support/server/http-server.js'

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
const last = 'GET /userinfo HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'

const bodies = (replies: string): readonly string[] => replies.match(/\{"n":\d+\}/g) ?? []

describe('answers of one turn of the event loop', () => {
  it('each reach their own client, however many there are', async () => {
    let n = 0
    const { port } = await startUntilTestEnds({ endpoints: { userinfo: () => json(200, { n: n++ }) } })
    const clients = Array.from({ length: 11 }, () => raw(port, last))
    const received = (await Promise.all(clients)).flatMap(bodies)
    expect(received.sort()).toEqual(Array.from({ length: 11 }, (_, index) => `{"n":${index}}`).sort())
  })

  it('keep the order of the requests on their connection', async () => {
    let n = 0
    const { port } = await startUntilTestEnds({ endpoints: { userinfo: () => json(200, { n: n++ }) } })
    const replies = await raw(port, get('/userinfo').repeat(6) + last)
    expect(bodies(replies)).toEqual(Array.from({ length: 7 }, (_, index) => `{"n":${index}}`))
  })

  it('are sent before their connections close when a stop begins', async () => {
    let stopped: Promise<void> | undefined
    const server = await startFixture({
      endpoints: {
        userinfo: () => {
          // Comes before the answers of this turn, whose headers are made by then.
          setImmediate(() => void (stopped ??= server.close(60_000)))
          return json(200, { n: 1 })
        },
      },
    })
    const reply = await raw(server.port, get('/userinfo'))
    expect(reply).toContain('HTTP/1.1 200 OK')
    expect(reply).toMatch(/\r\n\r\n\{"n":1\}$/)
    await stopped
  })
})
