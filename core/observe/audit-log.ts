import type { Clock } from '../clock.js'
import { within } from '../deadline.js'
import { Unavailable } from '../unavailable.js'
import { AuditChain } from './audit-chain.js'
import type { AuditEvent, AuditLog } from './audit.js'
import type { Put } from './whole-lines.js'

export interface AuditFile extends AuditLog, AsyncDisposable {
  /** Throws `Unavailable` while nothing can be written. Costs nothing until a write has failed. */
  check(): Promise<void>
  /** False while the room that is left is kept for what must be recorded. */
  hasRoom(): boolean
  /**
   * Goes on in the file that has the path of the log now, where another program has moved it away; a line says which one it
   * continues. No line is lost: until then lines go to the file that was moved. Throws `Unavailable`: it goes on as before.
   */
  reopen(): Promise<void>
}

export interface AuditOptions {
  /** Every line names it: logs of several issuers may be kept together. */
  readonly issuer: string
  /** Called with each event that was written. */
  readonly recorded?: (event: AuditEvent) => void
  /** Where requests are in traces, by request id. */
  readonly traces?: ReadonlyMap<string, string>
}

/** Name of the file that goes on elsewhere, and the hash of its last line. */
export interface Continued {
  readonly file: string
  readonly head: string | undefined
}

export interface Sink {
  /** The hash of the last line that is there; absent: a stream, of which nobody can tell. */
  readonly last?: () => Promise<string | undefined>
  readonly write: Put<string>
  /** Writes to the file that has the path now. What the file before it ends with; undefined: it is the same file. */
  readonly reopen?: () => Promise<Continued | undefined>
  hasRoom(): boolean
  close(): Promise<void>
}

/** Milliseconds. A reader may stop reading, a disk may hang: those who wait for a line get an error. */
const deadlineMs = 1000

const refuse = (applied: Unavailable['applied'], cause?: unknown): Unavailable =>
  new Unavailable('audit', applied, 'the audit log cannot be written', { cause })

/**
 * The audit log as JSON lines: schema version, writer, sequence, hash of the line before, time, process id, issuer, then the
 * event. All lines of one event-loop turn are one write; `record` resolves when the operating system has them.
 */
export const createAuditLog = (sink: Sink, clock: Clock, { issuer, recorded, traces }: AuditOptions): AuditFile => {
  const chain = new AuditChain(sink.last === undefined)
  const origin = `"pid":${process.pid},"issuer":${JSON.stringify(issuer)},`
  let at = NaN
  let time = ''
  let pending: string[] = []
  let events: AuditEvent[] = []
  let writing: Promise<void> | undefined
  let next: Promise<void> | undefined
  /** Since when nothing can be written: milliseconds since the epoch. */
  let failingSince: number | undefined
  /** Lines are out that nobody waits for any more. They may be written yet, and no others before. */
  let isStuck = false

  const inTrace = (event: AuditEvent): AuditEvent => {
    const traceparent = event.request_id === undefined ? undefined : traces?.get(event.request_id)
    return traceparent === undefined ? event : { ...event, traceparent }
  }

  const write = async (members: readonly string[], emitted: readonly AuditEvent[]): Promise<void> => {
    // As late as can be: other processes write too.
    if (!chain.hasBegun && sink.last) chain.continueFrom(await sink.last())
    const head = chain.head
    const lines = chain.link(members)
    const { written, cause } = await sink.write(`${lines.join('\n')}\n`)
    if (cause === undefined) return recorded && emitted.forEach(recorded)
    chain.rewind(lines, head, written)
    throw refuse('no', cause)
  }

  const writeInTime = async (members: readonly string[], emitted: readonly AuditEvent[]): Promise<void> => {
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
    const [members, emitted] = [pending, events]
    pending = []
    events = []
    next = undefined
    writing = writeInTime(members, emitted)
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
      // Nobody asks a process that is not ready for anything, so the line that reports the failure has to find out.
      if (failingSince !== undefined) await record()
    },
    async [Symbol.asyncDispose]() {
      await next?.catch(() => undefined)
      await writing?.catch(() => undefined)
      await sink.close()
    },
  }
}
