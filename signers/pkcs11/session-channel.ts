import type { Socket } from 'node:net'
import { KeyRefused, Unavailable, type SignatureTrace } from '../../core/api/signer.js'
import {
  frameReader,
  frameTypes,
  headerBytes,
  jsonFrame,
  type ControlRequest,
  type ControlResults,
} from './protocol.js'
import type { Failure } from './return-codes.js'

export const component = 'signers.pkcs11'

/** The error for the caller. Nothing was applied: a signature that nobody has seen does not count. */
export const errorOf = ({ kind, message }: Failure): KeyRefused | Unavailable => {
  if (kind === 'missing') return new KeyRefused(message, { cause: missing })
  const isFinal = kind === 'refused' || kind === 'pin' || kind === 'final'
  return isFinal ? new KeyRefused(message) : new Unavailable(component, 'no', message)
}

const missing = Symbol('missing')

/** Tells whether the library showed no such key. */
export const isMissing = (error: unknown): boolean => error instanceof KeyRefused && error.cause === missing

/** A signature that a caller waits for. */
export interface SignatureJob {
  readonly key: number
  readonly message: Uint8Array
  readonly signal: AbortSignal
  readonly trace: SignatureTrace | undefined
  readonly since: number
  readonly resolve: (signature: Uint8Array) => void
  readonly reject: (reason: unknown) => void
}

interface ControlJob {
  /** Its time limit, if different from the common deadline. */
  readonly allowanceMs: number
  readonly signal: AbortSignal
  readonly resolve: (result: unknown) => void
  readonly reject: (reason: unknown) => void
}

/** The parent's side of one session. */
export interface SessionChannel {
  readonly waiting: number
  /** How many signatures keep it busy for a short while. */
  readonly window: number
  /** How many more signatures it accepts now: enough to stay busy for a short while. */
  free(): number
  /** The number of signatures worth waking a session for. */
  worthwhile(): number
  send(jobs: readonly SignatureJob[]): void
  ask<Request extends ControlRequest>(
    request: Request,
    signal: AbortSignal,
    allowanceMs: number,
  ): Promise<ControlResults[Request['do']]>
  /** Rejects aborted jobs, and returns whether the session has been silent for too long. */
  sweep(now: number, deadlineMs: number): 'alive' | 'hung'
  fail(error: Error): void
  end(): void
}

export interface ChannelEvents {
  /** Called when signatures have arrived, so there is space again. */
  readonly answered: () => void
  /** Called when the library has to be restarted. */
  readonly reset: (failure: Failure) => void
}

/** Work queued in a session, in microseconds: two turns of the event loop, so that it never waits for us. */
const aheadMicros = 8000
const worthMicros = 500
const most = 256
const signatureHead = 12

/** `pid` may identify us in the token's log. */
export const openChannel = (socket: Socket, pid: number, events: ChannelEvents): SessionChannel => {
  // Answers come in the order of the requests.
  let inFlight: (SignatureJob | ControlJob)[] = []
  let head = 0
  let progressAt = 0
  let micros = 1000
  let exclusive = false

  const add = (job: SignatureJob | ControlJob): void => {
    if (head === inFlight.length) progressAt = performance.now()
    inFlight.push(job)
  }

  const take = (type: number, body: Buffer): void => {
    const job = inFlight[head++]
    if (job === undefined) return
    if (!('key' in job)) exclusive = false
    if (type === frameTypes.failure) {
      const failure = JSON.parse(body.toString()) as Failure
      job.reject(errorOf(failure))
      if (failure.kind === 'reset' || failure.kind === 'pin') events.reset(failure)
      return
    }
    if (!('key' in job)) return job.resolve(JSON.parse(body.toString()))
    micros += (body.readUInt32LE(8) - micros) / 4
    if (job.trace !== undefined) job.trace.reference = `${pid}.${body.readUInt32LE(0)}:${body.readUInt32LE(4)}`
    if (job.signal.aborted) job.reject(job.signal.reason)
    else job.resolve(Buffer.from(body.subarray(signatureHead)))
  }

  const window = (): number => Math.min(most, Math.max(2, Math.ceil(aheadMicros / Math.max(micros, 1))))

  const read = frameReader(take)
  socket.on('data', (chunk: Buffer) => {
    progressAt = performance.now()
    read(chunk)
    if (head === inFlight.length) {
      inFlight = []
      head = 0
    }
    events.answered()
  })
  // Only the end of the process matters, and the process reports it.
  socket.on('error', () => undefined)

  return {
    get waiting() {
      return inFlight.length - head
    },
    get window() {
      return window()
    },
    free() {
      if (exclusive) return 0
      return Math.max(0, window() - (inFlight.length - head))
    },
    worthwhile: () => Math.max(1, Math.floor(worthMicros / Math.max(micros, 1))),
    send(jobs) {
      let length = 0
      for (const { message } of jobs) length += headerBytes + 4 + message.byteLength
      const frames = Buffer.allocUnsafe(length)
      let at = 0
      for (const job of jobs) {
        const { message, key } = job
        frames.writeUInt32LE(message.byteLength + 5, at)
        frames[at + 4] = frameTypes.sign
        frames.writeUInt32LE(key, at + headerBytes)
        frames.set(message, at + headerBytes + 4)
        at += headerBytes + 4 + message.byteLength
        add(job)
      }
      socket.write(frames)
    },
    ask: (request, signal, allowanceMs) =>
      new Promise((resolve, reject) => {
        // Signatures must not wait behind an operation that may take long.
        exclusive = true
        add({ allowanceMs, signal, resolve: resolve as (result: unknown) => void, reject })
        socket.write(jsonFrame(frameTypes.control, request))
      }),
    sweep(now, deadlineMs) {
      for (let index = head; index < inFlight.length; index++) {
        const job = inFlight[index]
        if (job?.signal.aborted === true) job.reject(job.signal.reason)
      }
      const first = inFlight[head]
      const allowed = first !== undefined && 'allowanceMs' in first ? first.allowanceMs : deadlineMs
      return first !== undefined && now - progressAt > allowed ? 'hung' : 'alive'
    },
    fail(error) {
      for (let index = head; index < inFlight.length; index++) inFlight[index]?.reject(error)
      inFlight = []
      head = 0
      socket.destroy()
    },
    end: () => void socket.end(),
  }
}
