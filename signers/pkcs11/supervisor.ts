import { Unavailable, until, type Log } from '../../core/api/signer.js'
import { forkChild, type ForkedChild } from './child-process.js'
import type { ChildOptions, ChildReport, ControlRequest, ControlResults, OpenRequest } from './protocol.js'
import type { Failure } from './return-codes.js'
import { component, errorOf, openChannel, type SessionChannel } from './session-channel.js'
import { createSignatureQueue, type SignatureQueue } from './signature-queue.js'

/** Covers loading and initialising the library, and logging in to a distant token. */
const startMs = 15_000
const backoffMs = { first: 100, last: 5000 } as const
/** A child that was ready for this long did not fail to start. */
const soundMs = 1000
const sweepMs = 25
const closeMs = 2000

export interface SupervisorOptions {
  readonly child: Omit<ChildOptions, 'pinInDoubt'>
  readonly environment: Readonly<Record<string, string>>
  readonly deadlineMs: number
  readonly log: Log
}

export interface Supervisor extends AsyncDisposable {
  readonly room: number | undefined
  /** Why nothing is tried until the configuration changes. */
  readonly refusal: string | undefined
  readonly sign: SignatureQueue['sign']
  /**
   * Sends a request to one session, starting the child if necessary. Throws what `Signer` and `SignerProvider` throw.
   */
  ask<Request extends ControlRequest>(
    request: Request,
    signal: AbortSignal,
    allowanceMs?: number,
  ): Promise<ControlResults[Request['do']]>
  /**
   * Registers the key with every session of every child from now on; they refuse any other key with its name.
   * Resolves with the number to sign with (that of an earlier opening of the same key) once all sessions have looked
   * for it, because SoftHSM fails to create a key while another session reads the list of objects. Rejects with the
   * signal's reason.
   */
  adopt(key: OpenRequest, signal: AbortSignal): Promise<number>
}

/** Failures that end all attempts until the configuration changes. */
const endings: Partial<Record<Failure['kind'], string>> = {
  pin: 'The token refused the PIN. It is not tried again until the configuration changes.',
  final: 'The PKCS#11 library refused its configuration. It is not started again until the configuration changes.',
}

const nameOf = ({ number: _number, ...rest }: OpenRequest): string => JSON.stringify(rest)

/**
 * Supervises one child: starts it, kills it when it hangs, restarts it with growing pauses, and never repeats a wrong
 * PIN.
 */
export const supervise = ({ child: settings, environment, deadlineMs, log }: SupervisorOptions): Supervisor => {
  const queue = createSignatureQueue()
  const keys = new Map<string, OpenRequest>()
  let child: ForkedChild | undefined
  let channels: readonly SessionChannel[] = []
  let starting: Promise<void> | undefined
  let failure: Failure | undefined
  let pause: NodeJS.Timeout | undefined
  let sweeping: NodeJS.Timeout | undefined
  let sweptAt = 0
  let attempts = 0
  let readyAt = Infinity
  let loginPending = false
  let pinInDoubt = false
  let closed = false
  /** The last logged failure, and whether the shortage of sessions was logged. */
  let logged: string | undefined
  let shortageLogged = false

  const fail = (of: ForkedChild | undefined, why: Failure): void => {
    if (child === undefined || child !== of) return
    of.kill()
    child = undefined
    pinInDoubt ||= loginPending
    loginPending = false
    again(why)
  }

  const again = (why: Failure): void => {
    channels = []
    starting = undefined
    failure = why
    clearInterval(sweeping)
    queue.disconnect(errorOf(why))
    if (closed) return
    const said = endings[why.kind]
    if (said !== undefined) return log.error(said, { reason: why.message })
    if (performance.now() - readyAt > soundMs) attempts = 0
    readyAt = Infinity
    const delay = Math.min(backoffMs.last, backoffMs.first * 2 ** attempts++) * (0.75 + Math.random() / 2)
    // A token that stays away deserves one line, not one every five seconds.
    const tell = why.message === logged ? log.debug : log.warn
    logged = why.message
    tell('The PKCS#11 process is being restarted.', { reason: why.message, delay_ms: Math.round(delay) })
    pause = setTimeout(() => {
      pause = undefined
      start().catch(() => undefined)
    }, delay)
    pause.unref()
  }

  const channelOf = (of: ForkedChild, session: number): SessionChannel[] => {
    const socket = of.sockets[session]
    if (socket === undefined) return []
    return [openChannel(socket, of.pid, { answered: queue.dispatch, reset: (why) => fail(of, why) })]
  }

  const connect = (of: ForkedChild, { sessions, shortage }: Extract<ChildReport, { event: 'ready' }>): void => {
    readyAt = performance.now()
    failure = undefined
    channels = sessions.flatMap((session) => channelOf(of, session))
    if (shortage !== undefined && !shortageLogged)
      log.warn(
        'The token grants fewer sessions than the option `sessions` asks for; Signet asks for the others from time to time.',
        {
          sessions: channels.length,
          asked_for: settings.sessions,
          reason: shortage,
        },
      )
    shortageLogged = shortage !== undefined
    // Before anything is signed, each session reads the public halves again.
    for (const key of keys.values()) for (const channel of channels) void tellOf(key, channel)
    queue.connect(channels)
    sweptAt = performance.now()
    sweeping = setInterval(() => sweep(of), sweepMs)
    sweeping.unref()
    log.info('The PKCS#11 process is ready.', { child_pid: of.pid, sessions: channels.length })
  }

  /** The session learns the keys before it signs. */
  const join = (of: ForkedChild, session: number): void => {
    const joined = channelOf(of, session)
    channels = [...channels, ...joined]
    for (const key of keys.values()) for (const channel of joined) void tellOf(key, channel)
    queue.connect(channels)
    if (closed) for (const channel of joined) channel.end()
    log.info('The token grants a further session.', { sessions: channels.length, asked_for: settings.sessions })
  }

  const tellOf = async (key: OpenRequest, channel: SessionChannel): Promise<void> => {
    try {
      await channel.ask(key, never, deadlineMs)
    } catch (error) {
      if (!(error instanceof Unavailable))
        log.error('A key can no longer be used.', {
          key: nameOf(key),
          reason: error instanceof Error ? error.message : 'unknown',
        })
    }
  }

  const sweep = (of: ForkedChild): void => {
    const now = performance.now()
    // After a stall of our own, answers have arrived but were not read yet.
    const late = now - sweptAt > deadlineMs / 2
    sweptAt = now
    queue.sweep(now, deadlineMs)
    // Every channel is swept; one that hangs ends them all.
    const states = channels.map((channel) => channel.sweep(now, deadlineMs))
    if (!late && states.includes('hung'))
      fail(of, { kind: 'reset', message: 'the token did not answer within the deadline, and the process was killed' })
  }

  const start = (): Promise<void> => {
    const started = new Promise<void>((resolve, reject) => {
      const onReport = (report: ChildReport): void => {
        if (child !== forked) return
        if (report.event === 'login-begins') {
          loginPending = true
          forked.letLogin()
        } else if (report.event === 'login-ended') {
          loginPending = false
          pinInDoubt = false
        } else if (report.event === 'failed') end(report.failure)
        else if (report.event === 'joined') join(forked, report.session)
        else {
          clearTimeout(late)
          connect(forked, report)
          resolve()
        }
      }
      const forked = forkChild({ ...settings, pinInDoubt }, environment, onReport)
      const end = (why: Failure): void => {
        clearTimeout(late)
        reject(errorOf(why))
        fail(forked, why)
      }
      const late = setTimeout(
        () => end({ kind: 'reset', message: 'the PKCS#11 library did not start in time' }),
        startMs,
      )
      child = forked
      void forked.ended.then(end)
    })
    starting = started
    // Handles a failure that `fail` has not seen: the system could not create a process.
    started.catch((error: unknown) => {
      if (starting === started) again({ kind: 'reset', message: `no process could be started: ${String(error)}` })
    })
    return started
  }

  const ready = async (signal: AbortSignal): Promise<void> => {
    signal.throwIfAborted()
    if (closed) throw new Unavailable(component, 'no', 'The signer is closed.')
    if (channels.length > 0) return
    if (starting === undefined && failure !== undefined) throw errorOf(failure)
    await until(signal, () => starting ?? start())
  }

  const leastBusy = (): SessionChannel => {
    const [best] = [...channels].sort((a, b) => a.waiting - b.waiting)
    if (best === undefined) throw new Unavailable(component, 'no', 'The PKCS#11 process is not running.')
    return best
  }

  return {
    get room() {
      return queue.room
    },
    get refusal() {
      return failure !== undefined && failure.kind in endings ? failure.message : undefined
    },
    sign(key, message, signal, trace) {
      if (channels.length > 0 || signal.aborted) return queue.sign(key, message, signal, trace)
      return Promise.reject(
        failure === undefined ? new Unavailable(component, 'no', 'The PKCS#11 process is starting.') : errorOf(failure),
      )
    },
    async ask(request, signal, allowanceMs = deadlineMs) {
      await ready(signal)
      return await until(signal, () => leastBusy().ask(request, signal, allowanceMs))
    },
    async adopt(key, signal) {
      const name = nameOf(key)
      const known = keys.get(name)
      if (known !== undefined) return known.number
      keys.set(name, key)
      const adopted = Promise.all(channels.map((channel) => tellOf(key, channel)))
      await until(signal, () => adopted)
      return key.number
    },
    async [Symbol.asyncDispose]() {
      closed = true
      clearTimeout(pause)
      const last = child
      if (last === undefined) return
      for (const channel of channels) channel.end()
      const hung = setTimeout(() => last.kill(), channels.length > 0 ? closeMs : 0)
      await last.ended
      clearTimeout(hung)
    },
  }
}

const never = new AbortController().signal
