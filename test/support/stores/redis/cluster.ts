import { freePort } from '../../free-port.js'
import { startRedis, type RedisServer } from './server.js'

const slots = 16_384

export interface RedisCluster extends AsyncDisposable {
  readonly nodes: readonly RedisServer[]
  readonly uri: string
}

const isServing = async (node: RedisServer): Promise<boolean> =>
  String(await node.command('CLUSTER', 'INFO')).includes('cluster_state:ok')

/** Primaries that share the slots evenly; resolves when all of them know it. */
export const startCluster = async (size: number): Promise<RedisCluster> => {
  const nodes: RedisServer[] = []
  const stop = async (): Promise<void> => {
    for (const node of nodes) await node[Symbol.asyncDispose]()
  }
  try {
    await joinAll(nodes, size)
  } catch (error) {
    await stop()
    throw error
  }
  const [first] = nodes
  if (first === undefined) throw new RangeError('a cluster has one node at least')
  return { nodes, uri: first.uri(), [Symbol.asyncDispose]: stop }
}

const joinAll = async (nodes: RedisServer[], size: number): Promise<void> => {
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000', '--cluster-config-file', 'nodes.conf']
  let firstBus = 0
  for (let index = 0; index < size; index += 1) {
    // Its own would be 10,000 above the node's port, where Linux may have given it to a connection.
    const bus = await freePort()
    const node = await startRedis({ args: [...args, '--cluster-port', String(bus)] })
    const [first] = nodes
    nodes.push(node)
    const [begin, end] = [Math.ceil((index * slots) / size), Math.ceil(((index + 1) * slots) / size) - 1]
    await node.command('CLUSTER', 'ADDSLOTSRANGE', begin, end)
    if (first === undefined) firstBus = bus
    else await node.command('CLUSTER', 'MEET', '127.0.0.1', first.port, firstBus)
  }
  const waiting = new Set(nodes)
  while (waiting.size > 0)
    for (const node of waiting) {
      const known = String(await node.command('CLUSTER', 'NODES'))
        .trimEnd()
        .split('\n').length
      if (known === size && (await isServing(node))) waiting.delete(node)
    }
}
