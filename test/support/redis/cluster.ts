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
  const args = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '1000', '--cluster-config-file', 'nodes.conf']
  const nodes: RedisServer[] = []
  for (let index = 0; index < size; index += 1) nodes.push(await startRedis({ args }))
  const [first] = nodes
  if (first === undefined) throw new RangeError('a cluster has one node at least')
  for (const [index, node] of nodes.entries()) {
    const [begin, end] = [Math.ceil((index * slots) / size), Math.ceil(((index + 1) * slots) / size) - 1]
    await node.command('CLUSTER', 'ADDSLOTSRANGE', begin, end)
    if (node !== first) await node.command('CLUSTER', 'MEET', '127.0.0.1', first.port)
  }
  const waiting = new Set(nodes)
  while (waiting.size > 0)
    for (const node of waiting) {
      const known = String(await node.command('CLUSTER', 'NODES'))
        .trimEnd()
        .split('\n').length
      if (known === size && (await isServing(node))) waiting.delete(node)
    }
  return {
    nodes,
    uri: first.uri(),
    [Symbol.asyncDispose]: async () => {
      for (const node of nodes) await node[Symbol.asyncDispose]()
    },
  }
}
