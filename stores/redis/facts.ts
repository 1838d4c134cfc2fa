import type { Redis } from 'ioredis'
import type { RedisOptions } from './options.js'

/** What a server reports about itself. Undefined if the account may not ask. */
export type Facts = ReadonlyMap<string, string> | undefined

/** Throws the client's errors. */
export const readFacts = async (node: Redis): Promise<Facts> => {
  try {
    const text = await node.info('server', 'memory', 'replication')
    return new Map([...text.matchAll(/^(\w+):(.*?)\r?$/gm)].map(([, name = '', value = '']) => [name, value]))
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('NOPERM')) return undefined
    throw error
  }
}

/** Why the server must not be used, or undefined if it may. */
export const findFault = (facts: Facts, { cluster, sentinel, eviction_policy_acknowledged }: RedisOptions) => {
  const version = facts?.get('redis_version')
  if (version !== undefined && Number.parseInt(version, 10) < 7) return `is version ${version}: 7 or later is needed`
  const mode = facts?.get('redis_mode')
  if (mode === 'cluster' && cluster === undefined) return 'is a node of a cluster: options.cluster is missing'
  if (mode === 'sentinel') return 'is a sentinel: options.sentinel is missing'
  if (facts?.get('role') === 'slave')
    return sentinel === undefined
      ? 'is a replica, which accepts no writes'
      : 'is a replica: its primary is not known yet'
  const policy = facts?.get('maxmemory_policy')
  if (policy === undefined)
    return eviction_policy_acknowledged === undefined
      ? 'does not report maxmemory-policy: grant the account INFO, or set eviction_policy_acknowledged to noeviction'
      : undefined
  if (policy !== 'noeviction')
    return `has maxmemory-policy ${policy}, which forgets what was used: it must be noeviction`
  return undefined
}

/** Bytes that the servers may use together. Undefined if one of them has no limit or does not report it. */
export const memoryOf = (reports: readonly Facts[]): number | undefined => {
  const limits = reports.map((facts) => Number(facts?.get('maxmemory') ?? 0))
  return limits.length > 0 && limits.every((limit) => limit > 0)
    ? limits.reduce((sum, limit) => sum + limit)
    : undefined
}

/** One line for the operator. */
export const describeServer = (facts: Facts, { cluster, sentinel }: RedisOptions, nodes: number): string => {
  const kind = cluster !== undefined ? `cluster, ${String(nodes)} primaries` : 'primary'
  const by = sentinel === undefined ? '' : ' by sentinel'
  if (facts === undefined) return `Redis, ${kind}${by}, noeviction by acknowledgement`
  return `Redis ${facts.get('redis_version') ?? '?'}, ${kind}${by}, ${facts.get('maxmemory_policy') ?? 'noeviction by acknowledgement'}`
}
