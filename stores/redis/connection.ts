import type { Redis } from 'ioredis'
import { Cluster } from 'ioredis'
import { Unavailable, type Clock } from '../../core/api/storage.js'
import { createClient, databaseOf, placeOf } from './client.js'
import { describeServer, judge, memoryOf, readFacts, type Facts } from './facts.js'
import { isLostMemory, isTimeout, reasonOf, unavailable } from './failure.js'
import { joinEpoch, type Memory } from './memory.js'
import type { RedisOptions } from './options.js'
import type { ScriptName } from './scripts.js'

type Argument = string | number

/** The connection to Redis. Every method throws `Unavailable`, and nothing else. */
export interface Connection {
  readonly clock: Clock
  /** Sends one command. */
  call(command: string, ...given: readonly Argument[]): Promise<unknown>
  /** Runs a script on one key. `given` builds its arguments from the memory that it runs against. */
  run(script: ScriptName, key: string, given: (memory: Memory) => readonly Argument[]): Promise<unknown>
  /** The current memory. */
  memory(): Memory
  /** When the latest known epoch began, available even while disconnected. */
  since(): number
  /** For times that `since` does not cover: nothing was done. */
  refuse(reason: string): Unavailable
  ping(): Promise<void>
  describe(): Promise<string>
  /** Bytes that the servers may use, as last reported. */
  capacity(): number | undefined
  /** Lets calls in progress finish, and refuses later ones. */
  close(): Promise<void>
}

export interface ConnectionOptions {
  readonly options: RedisOptions
  readonly clock: Clock
  readonly component: string
}

/** Milliseconds until a connected but unfit server is examined again. */
const recheckMs = 500
/** Milliseconds that opening waits for a server, so that the first request need not. */
const openingMs = 1_500

/**
 * Opens a connection that is used only while the server is reliable: it is examined when new and at each ping. It
 * need not succeed, and keeps trying until closed.
 */
export const openConnection = async ({ options, clock, component }: ConnectionOptions): Promise<Connection> => {
  const client = createClient(options)
  const place = placeOf(options)
  const database = databaseOf(options)
  const markerKey = `${options.key_prefix}memory`
  const pingKey = `${options.key_prefix}ping`
  let memory: Memory | undefined
  let known = 0
  let facts: Facts
  let capacity: number | undefined
  let reason = 'not connected'
  let session = 0
  let dropped = -1
  let examining: Promise<void> | undefined
  let next: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false
  const underWay = new Set<Promise<unknown>>()

  const failure = (error: unknown): Unavailable => {
    // Answers have no names, only an order, so a late one must not be taken for the answer to another command.
    if (isTimeout(error) && !(client instanceof Cluster) && dropped !== session) {
      dropped = session
      client.disconnect(true)
    }
    return unavailable(component, place, error)
  }
  const refuse = (why: string): Unavailable => new Unavailable(component, 'no', `redis ${place}: ${why}`)
  const nodes = (): readonly Redis[] => (client instanceof Cluster ? client.nodes('master') : [client])

  const current = (): Memory => {
    if (memory === undefined || closed) throw refuse(closed ? 'closed' : reason)
    return memory
  }

  const examine = async (): Promise<void> => {
    const begun = session
    try {
      // The client continues in another database if this one cannot be selected.
      if (database !== 0) await client.call('SELECT', database)
      const reports = await Promise.all(nodes().map(readFacts))
      const fault = reports.map((one) => judge(one, options)).find((one) => one !== undefined)
      if (fault !== undefined) throw refuse(fault)
      const joined = await joinEpoch({ client, nodes: nodes(), markerKey, clock, known })
      // The examined connection is gone; the next one gets its own examination.
      if (begun !== session || closed) return
      facts = reports[0]
      capacity = memoryOf(reports)
      memory = joined
      known = joined.since
    } catch (error) {
      if (begun !== session) return
      memory = undefined
      reason = failure(error).message.slice(`redis ${place}: `.length)
      clearTimeout(timer)
      if (!closed) timer = setTimeout(() => void reexamine(), recheckMs).unref()
    }
  }

  /** Runs one examination at a time. Callers that arrive meanwhile get the next one, which starts afterwards. */
  const reexamine = (): Promise<void> => {
    if (examining !== undefined) {
      next ??= examining.then(() => {
        next = undefined
        return reexamine()
      })
      return next
    }
    if (client.status !== 'ready' || closed) return Promise.resolve()
    examining = examine().finally(() => {
      examining = undefined
    })
    return examining
  }

  const track = async <T>(work: Promise<T>): Promise<T> => {
    underWay.add(work)
    try {
      return await work
    } finally {
      underWay.delete(work)
    }
  }

  client.on('error', (error: unknown) => {
    reason = reasonOf(error)
  })
  client.on('close', () => {
    if (memory !== undefined) reason = 'the connection is down'
    session += 1
    memory = undefined
  })
  client.on('ready', () => {
    session += 1
    memory = undefined
    void reexamine()
  })
  // If a sentinel announces a new primary while ioredis looks for the old one, ioredis stops reconnecting.
  client.on('end', () => {
    if (closed) return
    clearTimeout(timer)
    timer = setTimeout(() => void client.connect().catch(() => undefined), recheckMs).unref()
  })

  const evaluate = async (name: ScriptName, key: string, given: (memory: Memory) => readonly Argument[]) => {
    const held = current()
    const keys = name === 'swap' || client instanceof Cluster ? [key] : [key, markerKey]
    const send = (at: Memory) => client.evalsha(at.scripts[name].sha, keys.length, ...keys, ...given(at))
    try {
      return await send(held)
    } catch (error) {
      if (!isLostMemory(error)) throw failure(error)
    }
    // The server is not the one we knew, so what it remembers has to be determined first. Nothing was done.
    if (memory === held) memory = undefined
    if (memory === undefined) await reexamine()
    return send(current()).catch((error: unknown) => {
      throw failure(error)
    })
  }

  const opened = new Promise<void>((resolve) => {
    client.once('error', () => resolve())
    client.once('ready', () => void examining?.then(resolve))
    setTimeout(resolve, openingMs).unref()
  })
  client.connect().catch(() => undefined)
  await opened

  return {
    clock,
    refuse,
    memory: current,
    since: () => {
      if (known === 0) throw refuse(reason)
      return known
    },
    call: async (command, ...given) => {
      current()
      return track(client.call(command, ...given).catch((error: unknown) => Promise.reject(failure(error))))
    },
    run: (script, key, given) => track(evaluate(script, key, given)),
    ping: async () => {
      if (closed) throw refuse('closed')
      // Pings by writing, because a read-only server does not work; this also detects a full one.
      const write = memory && client.set(pingKey, '1', 'PX', 10_000)
      await Promise.all([reexamine(), write]).catch((error: unknown) => Promise.reject(failure(error)))
      current()
    },
    describe: async () => {
      current()
      return describeServer(facts, options, nodes().length)
    },
    capacity: () => capacity,
    close: async () => {
      if (closed) return
      closed = true
      clearTimeout(timer)
      await Promise.allSettled(underWay)
      client.disconnect()
    },
  }
}
