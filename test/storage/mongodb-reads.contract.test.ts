import { randomUUID } from 'node:crypto'
import { expect, it } from 'vitest'
import { openMongodb } from '../../stores/mongodb/open-mongodb.js'
import { mongoMessageLength, openFaultProxy } from '../support/stores/fault-proxy.js'
import { commandOf } from '../support/stores/mongo-server/messages.js'
import { startMongo } from '../support/stores/mongo-server/start.js'
import { describeWith } from '../support/services/describe-with.js'

describeWith('mongodb', 'reads from MongoDB', () => {
  it('are one question where one turn brings them together, for a hundred documents at most', async () => {
    await using server = await startMongo()
    await using proxy = await openFaultProxy({
      host: server.host,
      port: server.port,
      messageLength: mongoMessageLength,
    })
    await using store = await openMongodb({
      uri: server.uri(proxy.port),
      database: server.database,
      clock: Date.now,
    })
    const codes = store.oneTime<string>('codes')
    const ids = Array.from({ length: 130 }, () => randomUUID())
    // One after another: that many at once are too many for a server that has just begun.
    for (const id of ids) await codes.put(id, `of ${id}`, 60)
    await codes.redeem(ids[0]!)
    await codes.put('over', 'of over', -1)
    let questions = 0
    proxy.faults.onRequest = (message) => {
      if (commandOf(message) === 'find') questions++
      return 'forward'
    }
    const wanted = [...ids, 'over', 'nobody', ids[1]!, '', 'x'.repeat(600)]
    const found = await Promise.all(wanted.map((id) => codes.findUnused(id)))
    const unused = ids.slice(1).map((id) => `of ${id}`)
    expect(found).toEqual([undefined, ...unused, undefined, undefined, unused[0], undefined, undefined])
    expect(questions).toBe(2)
  })
})
