import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readJsonLines } from '../../core/operate/json-records.js'
import { noLog } from '../../core/observe/log.js'
import { basic } from '../support/clients/clients.js'
import { startTokenServer } from '../support/server/token-server.js'
import { countRefusals } from '../support/forge/refusals.js'
import { serviceClient } from '../support/server/server.js'
import { mountSmallDisk } from '../support/stores/small-disk.js'

type Line = Record<string, unknown>

const disk = mountSmallDisk('1m')
afterAll(() => disk?.[Symbol.dispose]())

const linesIn = async (file: string): Promise<readonly Line[]> => {
  const found = []
  for await (const line of readJsonLines(file)) found.push(line)
  return found
}

describe.skipIf(!disk)('AN15 the disk of the audit log runs out of room', () => {
  it('the remaining space is kept for tokens: a flood of refusals is dropped and counted, and an honest client gets its token', async () => {
    const file = join(disk!.path, 'audit.jsonl')
    await using host = await startTokenServer({
      configure: (written) => ({
        ...written,
        audit: { file },
        trusted_proxies: ['127.0.0.1/32'],
      }),
      log: noLog,
    })
    let address = 0
    /** Each from an address of its own, which would have a line of its own. */
    const anyone = async (count: number): Promise<void> => {
      const send = async () => {
        const from = `198.18.${String(address >> 8)}.${String(address++ & 255)}`
        const reply = await fetch(`${host.server.issuer}/userinfo`, { headers: { 'x-forwarded-for': from } })
        expect(reply.status).toBe(401)
        await reply.body?.cancel()
      }
      for (let sent = 0; sent < count; sent += 50) await Promise.all(Array.from({ length: 50 }, send))
    }
    const honest = async () => {
      const answer = await host.token({ grant_type: 'client_credentials' }, { authorization: basic(serviceClient) })
      expect(answer.status).toBe(200)
      return answer.headers.get('x-request-id')
    }
    const dropped = async () => {
      const text = await (await fetch(`${host.server.admin}/metrics`)).text()
      return Number(/^signet_audit_dropped_total\{issuer="[^"]+"\} (.*)$/m.exec(text)?.[1])
    }
    const notices = async (state: string) =>
      (await linesIn(file)).filter((line) => line['event'] === 'refusals.dropped' && line['state'] === state)

    await honest()
    await anyone(50)
    expect(await dropped()).toBe(0)
    // Less than the quarter of the disk that is kept.
    disk!.resize('200k')
    await expect
      .poll(async () => {
        await anyone(50)
        return dropped()
      })
      .toBeGreaterThan(0)
    expect(await notices('begun')).toHaveLength(1)
    const size = (await linesIn(file)).length
    const ids: (string | null)[] = []
    for (let round = 0; round < 10; round++) {
      await anyone(100)
      ids.push(await honest())
    }
    const lines = await linesIn(file)
    for (const id of ids) {
      const events = lines.filter((line) => line['request_id'] === id).map(({ event }) => event)
      expect(events).toEqual(['token.signed', 'token.issued'])
    }
    expect(lines.length - size).toBe(2 * ids.length)

    disk!.resize('1m')
    await expect.poll(() => notices('ended')).toHaveLength(1)
    const count = await dropped()
    expect((await notices('ended'))[0]).toMatchObject({ count })
    await anyone(50)
    await expect.poll(async () => countRefusals(await linesIn(file))).toBe(address - count)
  })
})
