import type { Clock } from '../clock.js'
import { within } from '../deadline.js'
import { Unavailable } from '../unavailable.js'
import { AuditChain } from './audit-chain.js'
import type { AuditEvent, AuditLog } from './audit.js'
import type { Put } from './whole-lines.js'

export interface AuditFile extends AuditLog, AsyncDisposable {
  /** Throws `Unavailable` while nothing can be written. Free until a write has failed. */
  check(): Promise<void>
  /** False while the remaining space is reserved for mandatory lines. */
  hasRoom(): boolean
  /**
   * Continues in the file that now has the path of the log, after another program moved the old one; a line says
   * which file it continues. Lines go to the moved file until then, so none is lost. Throws `Unavailable`, and then
   * it continues as before.
   */
  reopen(): Promise<void>
}

export interface AuditOptions {
  /** Contained in every line, because logs of several issuers may be kept together. */
  readonly issuer: string
  /** Called with each written event. */
  readonly recorded?: (event: AuditEvent) => void
  /** Trace ids by request id. */
  readonly traces?: ReadonlyMap<string, string>
}

/** Name of the file that the log continues from, and the hash of its last line. */
export interface Continued {
  readonly file: string
  readonly head: string | undefined
}

export interface Sink {
  /** The hash of the last existing line. Absent for a stream, where it is unknown. */
  readonly last?: () => Promise<string | undefined>
  readonly write: Put<string>
  /** Switches to the file that now has the path. Returns how the old file ends, or undefined if it is the same file. */
  readonly reopen?: () => Promise<Continued | undefined>
  hasRoom(): boolean
  close(): Promise<void>
}

/** Milliseconds. A reader may stop reading or a disk may hang, and then the callers waiting for a line get an error. */
const deadlineMs = 1000

const refuse = (applied: Unavailable['applied'], cause?: unknown): Unavailable =>
  new Unavailable('audit', applied, 'the audit log cannot be written', { cause })

/** Writes these members of lines, of these events, chained and within the deadline. Throws `Unavailable`. */
type WriteLines = (members: readonly string[], emitted: readonly AuditEvent[]) => Promise<void>

const createChainWriter = (sink: Sink, recorded: AuditOptions['recorded']): WriteLines => {
  const chain = new AuditChain(sink.last === undefined)
  /**
   * Lines were submitted that no caller waits for any more. They may still be written, so no others may be written
   * first.
   */
  let isStuck = false

  const write: WriteLines = async (members, emitted) => {
    // Read as late as possible, because other processes write too.
    if (!chain.hasBegun && sink.last) chain.continueFrom(await sink.last())
    const head = chain.head
    const lines = chain.link(members)
    const { written, cause } = await sink.write(`${lines.join('\n')}\n`)
    if (cause === undefined) return recorded && emitted.forEach(recorded)
    chain.rewind(lines, head, written)
    throw refuse('no', cause)
  }

  return async (members, emitted) => {
    if (isStuck) throw refuse('no')
    const written = write(members, emitted)
    const late = () => {
      isStuck = true
      const settle = (): void => void (isStuck = false)
      written.then(settle, settle)
      return refuse('unknown')
    }
    await within(deadlineMs, written, late)
  }
}

/**
 * The audit log as JSON lines: schema version, writer, sequence, hash of the previous line, time, process id, issuer,
 * then the event. All lines of one event-loop turn are one write. `record` resolves when the operating system has
 * them.
 */
export const createAuditLog = (sink: Sink, clock: Clock, { issuer, recorded, traces }: AuditOptions): AuditFile => {
  const write = createChainWriter(sink, recorded)
  const origin = `"pid":${process.pid},"issuer":${JSON.stringify(issuer)},`
  let at = NaN
  let time = ''
  let pending: string[] = []
  let events: AuditEvent[] = []
  let writing: Promise<void> | undefined
  let next: Promise<void> | undefined
  /** Since when nothing can be written, in milliseconds since the epoch. */
  let failingSince: number | undefined

  const inTrace = (event: AuditEvent): AuditEvent => {
    const traceparent = event.request_id === undefined ? undefined : traces?.get(event.request_id)
    return traceparent === undefined ? event : { ...event, traceparent }
  }

  const memberOf = (event: AuditEvent): string =>
    `${time}${JSON.stringify(traces?.size ? inTrace(event) : event).slice(1)}`

  /** Recorded before everything else once lines can be written again. */
  const tellOutage = (since: number): void => {
    const event: AuditEvent = { event: 'outage', component: 'audit', since: new Date(since).toISOString() }
    events.unshift(event)
    pending.unshift(memberOf(event))
  }

  const flush = async (): Promise<void> => {
    await writing?.catch(() => undefined)
    if (failingSince !== undefined) tellOutage(failingSince)
    const [members, emitted] = [pending, events]
    pending = []
    events = []
    next = undefined
    writing = write(members, emitted)
    try {
      await writing
      failingSince = undefined
    } catch (error) {
      failingSince ??= clock()
      throw error
    }
  }

  const record = (...emitted: readonly AuditEvent[]): Promise<void> => {
    const now = clock()
    if (now !== at) time = `"time":"${new Date((at = now)).toISOString()}",${origin}`
    for (const event of emitted) {
      events.push(event)
      pending.push(memberOf(event))
    }
    next ??= Promise.resolve().then(flush)
    return next
  }

  return {
    record,
    async reopen() {
      const continued = await sink.reopen?.()
      if (continued) await record({ event: 'audit.continued', ...continued })
    },
    hasRoom: () => sink.hasRoom(),
    async check() {
      // A process that is not ready gets no requests, so this reporting line also tests whether writing works again.
      if (failingSince !== undefined) await record()
    },
    async [Symbol.asyncDispose]() {
      await next?.catch(() => undefined)
      await writing?.catch(() => undefined)
      await sink.close()
    },
  }
}
