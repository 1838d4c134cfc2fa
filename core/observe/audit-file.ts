import { writeSync } from 'node:fs'
import { mkdir, open, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../clock.js'
import { Unavailable } from '../unavailable.js'
import type { AuditEvent, AuditLog } from './audit.js'

const schemaVersion = 1
const head = `{"v":${schemaVersion},"seq":`

export interface AuditFile extends AuditLog, AsyncDisposable {}

interface Writer {
  write(lines: string): Promise<void>
  close(): Promise<void>
}

/**
 * The audit log as JSON lines: schema version, sequence within this process, time, process id, then the event. All
 * lines of one event-loop turn are one write; `record` resolves when the operating system has them.
 */
export const createAuditLog = (writer: Writer, clock: Clock): AuditFile => {
  let sequence = 0
  let at = NaN
  let time = ''
  let pending: string[] = []
  let writing: Promise<void> | undefined
  let next: Promise<void> | undefined

  const flush = async (): Promise<void> => {
    await writing?.catch(() => undefined)
    const lines = pending.join('')
    pending = []
    next = undefined
    writing = writer.write(lines)
    await writing
  }

  return {
    record(...events: readonly AuditEvent[]) {
      const now = clock()
      if (now !== at) time = `,"time":"${new Date((at = now)).toISOString()}","pid":${process.pid},`
      for (const event of events) pending.push(`${head}${++sequence}${time}${JSON.stringify(event).slice(1)}\n`)
      next ??= Promise.resolve().then(flush)
      return next
    },
    async [Symbol.asyncDispose]() {
      await next?.catch(() => undefined)
      await writing?.catch(() => undefined)
      await writer.close()
    },
  }
}

/** Appends to `path`, mode 0600. Throws `Unavailable` from `record` when the disk is full or gone (F34). */
const openAuditFile = async (path: string, clock: Clock): Promise<AuditFile> => {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const file = await open(path, 'a+', 0o600)
  // A process that was killed while it wrote may have left half a line.
  let torn = await endsWithinLine(file)
  // In the event loop on purpose: 4 µs into the page cache, once a turn. On the thread pool the same write cost each
  // request of a saturated core four wake-ups of a thread, a fifth of its time.
  const write = async (lines: string): Promise<void> => {
    try {
      // What a failed write left of a line gets an end, so that the lines after it can be read.
      const bytes = Buffer.from(torn ? `\n${lines}` : lines, 'utf8')
      for (let written = 0; written < bytes.length;) written += writeSync(file.fd, bytes, written)
      torn = false
    } catch (cause) {
      torn = true
      throw new Unavailable('audit', 'no', 'the audit log cannot be written', { cause })
    }
  }
  return createAuditLog({ write, close: () => file.close() }, clock)
}

const endsWithinLine = async (file: FileHandle): Promise<boolean> => {
  const { size } = await file.stat()
  if (size === 0) return false
  const { buffer } = await file.read(Buffer.alloc(1), 0, 1, size - 1)
  return buffer.toString() !== '\n'
}

/** To standard output, for deployments that collect it there. */
const openAuditStream = (stream: NodeJS.WritableStream, clock: Clock): AuditFile =>
  createAuditLog(
    {
      write: (lines) =>
        new Promise((resolve, reject) => {
          stream.write(lines, (cause) =>
            cause ? reject(new Unavailable('audit', 'no', 'the audit log cannot be written', { cause })) : resolve(),
          )
        }),
      close: async () => undefined,
    },
    clock,
  )

/** Opens what `audit` of the configuration names. */
export const openAudit = (target: 'stdout' | { readonly file: string }, clock: Clock): Promise<AuditFile> =>
  target === 'stdout' ? Promise.resolve(openAuditStream(process.stdout, clock)) : openAuditFile(target.file, clock)
