import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Clock } from '../../core/clock.js'
import { openRedis, type RedisSettings } from '../../stores/redis/open-redis.js'
import { readDocument } from '../support/document.js'
import { startCluster, type RedisCluster } from '../support/stores/redis/cluster.js'
import { startRedis, type RedisServer } from '../support/stores/redis/server.js'
import { describeWith } from '../support/services/describe-with.js'
import { ephemeralContract } from '../support/stores/storage-contract.js'

/** What the document gives the account: the words after `ACL`. */
const [, documented = ''] = /^ *ACL (SETUSER signet .*)$/m.exec(readDocument('docs/storage.md')) ?? []
const forCluster = ['+cluster|slots', '+cluster|info', '+client|setname']

const asSignet = (uri: string): string => uri.replace('redis://', 'redis://signet:password@')

/** Opens as the account, in an epoch that began an hour ago. */
const openAs = async (uri: string, more: Partial<RedisSettings> = {}) => {
  const open = (clock: Clock) => openRedis({ uri: asSignet(uri), key_prefix: 'signet:', clock, ...more })
  await using first = await open(() => Date.now() - 3_600_000)
  await first.ping(new AbortController().signal)
  return open
}

const denied = async (server: RedisServer): Promise<unknown[]> => (await server.command('ACL', 'LOG')) as unknown[]

describeWith('redis', 'the account of docs/storage.md', () => {
  let server: RedisServer
  let cluster: RedisCluster
  let open: Awaited<ReturnType<typeof openAs>>
  let openCluster: typeof open
  beforeAll(async () => {
    server = await startRedis()
    cluster = await startCluster(3)
    await server.command('ACL', ...documented.split(' '))
    for (const node of cluster.nodes) await node.command('ACL', ...documented.split(' '), ...forCluster)
    open = await openAs(server.uri())
    openCluster = await openAs(cluster.uri, { cluster: { nodes: [] } })
  })
  afterAll(async () => {
    await server[Symbol.asyncDispose]()
    await cluster[Symbol.asyncDispose]()
  })

  ephemeralContract('redis by this account', (clock) => open(clock))
  ephemeralContract('redis in a cluster by this account', (clock) => openCluster(clock))

  describe('the account', () => {
    it('was denied nothing that the adapter asks for', async () => {
      for (const one of [server, ...cluster.nodes]) expect(await denied(one)).toEqual([])
    })

    it('may use another database, by number', async () => {
      await using backend = await openRedis({
        uri: `${asSignet(server.uri())}/3`,
        key_prefix: 'signet:',
        clock: Date.now,
      })
      await backend.ping(new AbortController().signal)
      expect(await denied(server)).toEqual([])
    })

    it('may do nothing that makes the store forget or tell', async () => {
      const commands = [
        ['FLUSHALL'],
        ['FLUSHDB'],
        ['SWAPDB', '0', '1'],
        ['KEYS', '*'],
        ['SCAN', '0'],
        ['CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru'],
        ['SCRIPT', 'FLUSH'],
        ['ACL', 'LIST'],
        ['MONITOR'],
        ['GET', 'other:key'],
        ['SET', 'other:key', '1'],
      ]
      for (const command of commands)
        expect({ command, answer: await server.command('ACL', 'DRYRUN', 'signet', ...command) }).toEqual({
          command,
          answer: expect.stringMatching(/no permissions|has no access/),
        })
      const client = new Redis(asSignet(server.uri()), { enableReadyCheck: false, disableClientInfo: true })
      await expect(client.eval("return redis.call('FLUSHALL')", 0)).rejects.toThrow(/can't run this command/)
      client.disconnect()
    })
  })
})
