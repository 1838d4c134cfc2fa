import { writeSync } from 'node:fs'
import { mkdir, open, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../clock.js'
import { Unavailable } from '../unavailable.js'
import { AuditChain, lineHash } from './audit-chain.js'
import type { AuditEvent, AuditLog } from './audit.js'

export interface AuditFile extends AuditLog, AsyncDisposable {
  /** Throws `Unavailable` while nothing can be written. Costs nothing until a write has failed. */
  check(): Promise<void>
}

export interface AuditOptions {
  /** Told of each event that was written. */
  readonly recorded?: (event: AuditEvent) => void
  /** Where requests are in traces, by request id. */
  readonly traces?: ReadonlyMap<string, string>
}

interface Sink {
  /** The hash of the last line that is there; absent: nobody can tell. */
  readonly last?: () => Promise<string | undefined>
  /** Gives the number of bytes that were written; fewer than all: that is why. */
  write(lines: string): Promise<{ readonly written: number; readonly cause?: unknown }>
  close(): Promise<void>
}

/**
 * The audit log as JSON lines: schema version, writer, sequence, hash of the line before, time, process id, then the
 * event. All lines of one event-loop turn are one write; `record` resolves when the operating system has them.
 */
const createAuditLog = (sink: Sink, clock: Clock, { recorded, traces }: AuditOptions = {}): AuditFile => {
  const chain = new AuditChain()
  let at = NaN
  let time = ''
  let pending: string[] = []
  let events: AuditEvent[] = []
  let writing: Promise<void> | undefined
  let next: Promise<void> | undefined
  /** Since when nothing can be written: milliseconds since the epoch. */
  let failingSince: number | undefined

  const inTrace = (event: AuditEvent): AuditEvent => {
    const traceparent = event.request_id === undefined ? undefined : traces?.get(event.request_id)
    return traceparent === undefined ? event : { ...event, traceparent }
  }

  const write = async (members: readonly string[], told: readonly AuditEvent[]): Promise<void> => {
    // As late as can be: other processes write too.
    if (!chain.hasBegun && sink.last) chain.continueFrom(await sink.last())
    const head = chain.head
    const lines = chain.link(members)
    const { written, cause } = await sink.write(`${lines.join('\n')}\n`)
    if (cause === undefined) {
      failingSince = undefined
      return recorded && told.forEach(recorded)
    }
    chain.rewind(lines, head, written)
    throw new Unavailable('audit', 'no', 'the audit log cannot be written', { cause })
  }

  const memberOf = (event: AuditEvent): string =>
    `${time}${JSON.stringify(traces?.size ? inTrace(event) : event).slice(1)}`

  /** Before everything else, once lines can be written again. */
  const tellOutage = (since: number): void => {
    const event: AuditEvent = { event: 'outage', component: 'audit', since: new Date(since).toISOString() }
    events.unshift(event)
    pending.unshift(memberOf(event))
  }

  const flush = async (): Promise<void> => {
    await writing?.catch(() => undefined)
    if (failingSince !== undefined) tellOutage(failingSince)
    const [members, told] = [pending, events]
    pending = []
    events = []
    next = undefined
    writing = write(members, told)
    try {
      await writing
    } catch (error) {
      failingSince ??= clock()
      throw error
    }
  }

  const record = (...told: readonly AuditEvent[]): Promise<void> => {
    const now = clock()
    if (now !== at) time = `"time":"${new Date((at = now)).toISOString()}","pid":${process.pid},`
    for (const event of told) {
      events.push(event)
      pending.push(memberOf(event))
    }
    next ??= Promise.resolve().then(flush)
    return next
  }

  return {
    record,
    async check() {
      // Nobody asks a process that is not ready for anything, so the line that tells of the failure has to find out.
      if (failingSince !== undefined) await record()
    },
    async [Symbol.asyncDispose]() {
      await next?.catch(() => undefined)
      await writing?.catch(() => undefined)
      await sink.close()
    },
  }
}

/** Appends to `path`, mode 0600. Throws `Unavailable` from `record` when the disk is full or gone (F34). */
const openAuditFile = async (path: string, clock: Clock, options?: AuditOptions): Promise<AuditFile> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await open(path, 'a+', 0o600)
  // A process that was killed while it wrote may have left half a line.
  let torn = (await readEnd(file)).torn
  // In the event loop on purpose: 4 µs into the page cache, once a turn. On the thread pool the same write cost each
  // request of a saturated core four wake-ups of a thread, a fifth of its time.
  const write: Sink['write'] = async (lines) => {
    // What a failed write left of a line gets an end, so that the lines after it can be read.
    const start = torn ? 1 : 0
    const bytes = Buffer.from(torn ? `\n${lines}` : lines, 'utf8')
    let written = 0
    try {
      while (written < bytes.length) written += writeSync(file.fd, bytes, written)
      torn = false
      return { written: written - start }
    } catch (cause) {
      torn = written === 0 ? torn : bytes[written - 1] !== lineFeed
      return { written: Math.max(0, written - start), cause }
    }
  }
  const last = async (): Promise<string | undefined> => {
    try {
      const { last: line } = await readEnd(file)
      return line && lineHash(line)
    } catch (cause) {
      throw new Unavailable('audit', 'no', 'the audit log cannot be read', { cause })
    }
  }
  return createAuditLog({ last, write, close: () => file.close() }, clock, options)
}

const lineFeed = 0x0a

/** The last line that has its line feed, and whether something comes after it. */
const readEnd = async (file: FileHandle): Promise<{ readonly last?: string; readonly torn: boolean }> => {
  const { size } = await file.stat()
  for (let length = Math.min(size, 16 * 1024); length > 0; length = Math.min(size, 4 * length)) {
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length)
    const end = buffer.lastIndexOf(lineFeed)
    const begin = end > 0 ? buffer.lastIndexOf(lineFeed, end - 1) : -1
    if (length < size && begin === -1) continue
    const torn = end !== length - 1
    return end === -1 ? { torn } : { last: buffer.toString('utf8', begin + 1, end), torn }
  }
  return { torn: false }
}

/** To a stream, for deployments that collect it there. Nobody reads there what another process wrote. */
export const openAuditStream = (stream: NodeJS.WritableStream, clock: Clock, options?: AuditOptions): AuditFile =>
  createAuditLog(
    {
      write: (lines) =>
        new Promise((resolve) => {
          stream.write(lines, (cause) => resolve(cause ? { written: 0, cause } : { written: lines.length }))
        }),
      close: async () => undefined,
    },
    clock,
    options,
  )

/** Opens what `audit` of the configuration names. */
export const openAudit = (
  target: 'stdout' | { readonly file: string },
  clock: Clock,
  options?: AuditOptions,
): Promise<AuditFile> =>
  target === 'stdout'
    ? Promise.resolve(openAuditStream(process.stdout, clock, options))
    : openAuditFile(target.file, clock, options)
