import type { Redis } from 'ioredis'
import { Cluster } from 'ioredis'
import { Unavailable, type Clock } from '../../core/api/storage.js'
import { createClient, databaseOf, placeOf } from './client.js'
import { describeServer, findFault, memoryOf, readFacts, type Facts } from './facts.js'
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

/** One client, and what is known of the server behind it. */
interface Link extends ConnectionOptions {
  readonly client: ReturnType<typeof createClient>
  readonly place: string
  readonly database: number
  readonly markerKey: string
  readonly pingKey: string
  /** What holds now; undefined while the server is not one to rely on. */
  memory: Memory | undefined
  /** When the latest known epoch began; 0: none is known yet. */
  known: number
  facts: Facts
  capacity: number | undefined
  /** Why `memory` is undefined. */
  reason: string
  /** Rises when a connection begins and when it ends. */
  session: number
  /** The session that was dropped because an answer did not come. */
  dropped: number
  examining: Promise<void> | undefined
  /** The examination after that one. */
  next: Promise<void> | undefined
  timer: NodeJS.Timeout | undefined
  closed: boolean
  readonly inFlight: Set<Promise<unknown>>
}

/** Milliseconds until a connected but unfit server is examined again. */
const recheckMs = 500
/** Milliseconds that opening waits for a server, so that the first request need not. */
const openingMs = 1_500

const failure = (link: Link, error: unknown): Unavailable => {
  // Answers have no names, only an order, so a late one must not be taken for the answer to another command.
  if (isTimeout(error) && !(link.client instanceof Cluster) && link.dropped !== link.session) {
    link.dropped = link.session
    link.client.disconnect(true)
  }
  return unavailable(link.component, link.place, error)
}

const refuse = ({ component, place }: Link, why: string): Unavailable =>
  new Unavailable(component, 'no', `redis ${place}: ${why}`)

const nodesOf = ({ client }: Link): readonly Redis[] => (client instanceof Cluster ? client.nodes('master') : [client])

const current = (link: Link): Memory => {
  if (link.memory === undefined || link.closed) throw refuse(link, link.closed ? 'closed' : link.reason)
  return link.memory
}

const examine = async (link: Link): Promise<void> => {
  const { client, options, database, markerKey, clock, session: begun } = link
  try {
    // The client continues in another database if this one cannot be selected.
    if (database !== 0) await client.call('SELECT', database)
    const reports = await Promise.all(nodesOf(link).map(readFacts))
    const fault = reports.map((one) => findFault(one, options)).find((one) => one !== undefined)
    if (fault !== undefined) throw refuse(link, fault)
    const joined = await joinEpoch({ client, nodes: nodesOf(link), markerKey, clock, known: link.known })
    // The examined connection is gone; the next one gets its own examination.
    if (begun !== link.session || link.closed) return
    link.facts = reports[0]
    link.capacity = memoryOf(reports)
    link.memory = joined
    link.known = joined.since
  } catch (error) {
    if (begun !== link.session) return
    link.memory = undefined
    link.reason = failure(link, error).message.slice(`redis ${link.place}: `.length)
    clearTimeout(link.timer)
    if (!link.closed) link.timer = setTimeout(() => void reexamine(link), recheckMs).unref()
  }
}

/** Runs one examination at a time. Callers that arrive meanwhile get the next one, which starts afterwards. */
const reexamine = (link: Link): Promise<void> => {
  if (link.examining !== undefined) {
    link.next ??= link.examining.then(() => {
      link.next = undefined
      return reexamine(link)
    })
    return link.next
  }
  if (link.client.status !== 'ready' || link.closed) return Promise.resolve()
  link.examining = examine(link).finally(() => {
    link.examining = undefined
  })
  return link.examining
}

const track = async <T>({ inFlight }: Link, work: Promise<T>): Promise<T> => {
  inFlight.add(work)
  try {
    return await work
  } finally {
    inFlight.delete(work)
  }
}

/** What is known of the server ends with the connection; a new connection is examined before it is used. */
const followClient = (link: Link): void => {
  const { client } = link
  client.on('error', (error: unknown) => {
    link.reason = reasonOf(error)
  })
  client.on('close', () => {
    if (link.memory !== undefined) link.reason = 'the connection is down'
    link.session += 1
    link.memory = undefined
  })
  client.on('ready', () => {
    link.session += 1
    link.memory = undefined
    void reexamine(link)
  })
  // If a sentinel announces a new primary while ioredis looks for the old one, ioredis stops reconnecting.
  client.on('end', () => {
    if (link.closed) return
    clearTimeout(link.timer)
    link.timer = setTimeout(() => void client.connect().catch(() => undefined), recheckMs).unref()
  })
}

const evaluate = async (link: Link, name: ScriptName, key: string, given: (memory: Memory) => readonly Argument[]) => {
  const { client, markerKey } = link
  const held = current(link)
  const keys = name === 'swap' || client instanceof Cluster ? [key] : [key, markerKey]
  const send = (at: Memory) => client.evalsha(at.scripts[name].sha, keys.length, ...keys, ...given(at))
  try {
    return await send(held)
  } catch (error) {
    if (!isLostMemory(error)) throw failure(link, error)
  }
  // The server is not the one we knew, so what it remembers has to be determined first. Nothing was done.
  if (link.memory === held) link.memory = undefined
  if (link.memory === undefined) await reexamine(link)
  return send(current(link)).catch((error: unknown) => {
    throw failure(link, error)
  })
}

const call = async (link: Link, command: string, given: readonly Argument[]): Promise<unknown> => {
  current(link)
  return track(
    link,
    link.client.call(command, ...given).catch((error: unknown) => Promise.reject(failure(link, error))),
  )
}

const since = (link: Link): number => {
  if (link.known === 0) throw refuse(link, link.reason)
  return link.known
}

const ping = async (link: Link): Promise<void> => {
  if (link.closed) throw refuse(link, 'closed')
  // Pings by writing, because a read-only server does not work; this also detects a full one.
  const write = link.memory && link.client.set(link.pingKey, '1', 'PX', 10_000)
  await Promise.all([reexamine(link), write]).catch((error: unknown) => Promise.reject(failure(link, error)))
  current(link)
}

const close = async (link: Link): Promise<void> => {
  if (link.closed) return
  link.closed = true
  clearTimeout(link.timer)
  await Promise.allSettled(link.inFlight)
  link.client.disconnect()
}

/** Resolves when the first server was examined or has failed, or after a while. */
const connect = async (link: Link): Promise<void> => {
  const { client } = link
  const opened = new Promise<void>((resolve) => {
    client.once('error', () => resolve())
    client.once('ready', () => void link.examining?.then(resolve))
    setTimeout(resolve, openingMs).unref()
  })
  client.connect().catch(() => undefined)
  await opened
}

/**
 * Opens a connection that is used only while the server is reliable: it is examined when new and at each ping. It
 * need not succeed, and keeps trying until closed.
 */
export const openConnection = async (given: ConnectionOptions): Promise<Connection> => {
  const { options } = given
  const link: Link = {
    ...given,
    client: createClient(options),
    place: placeOf(options),
    database: databaseOf(options),
    markerKey: `${options.key_prefix}memory`,
    pingKey: `${options.key_prefix}ping`,
    memory: undefined,
    known: 0,
    facts: undefined,
    capacity: undefined,
    reason: 'not connected',
    session: 0,
    dropped: -1,
    examining: undefined,
    next: undefined,
    timer: undefined,
    closed: false,
    inFlight: new Set(),
  }
  followClient(link)
  await connect(link)
  return {
    clock: given.clock,
    refuse: (reason) => refuse(link, reason),
    memory: () => current(link),
    since: () => since(link),
    call: (command, ...sent) => call(link, command, sent),
    run: (script, key, argumentsFor) => track(link, evaluate(link, script, key, argumentsFor)),
    ping: () => ping(link),
    describe: async () => {
      current(link)
      return describeServer(link.facts, options, nodesOf(link).length)
    },
    capacity: () => link.capacity,
    close: () => close(link),
  }
}
