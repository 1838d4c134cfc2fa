import { Unavailable, type Log } from '../../core/api/signer.js'
import { forkChild, type ForkedChild } from './child-process.js'
import type { ChildOptions, ChildReport, OpenRequest } from './protocol.js'
import type { Failure } from './return-codes.js'
import { errorOf, openChannel, type SessionChannel } from './session-channel.js'
import type { SignatureQueue } from './signature-queue.js'

/** Covers loading and initialising the library, and logging in to a distant token. */
const startMs = 15_000
const backoffMs = { first: 100, last: 5000 } as const
/** A child that was ready for this long did not fail to start. */
const healthyMs = 1000
const sweepMs = 25

export interface SupervisorOptions {
  readonly child: Omit<ChildOptions, 'pinInDoubt'>
  readonly environment: Readonly<Record<string, string>>
  readonly deadlineMs: number
  readonly log: Log
}

/** The child, and what outlives it. */
export interface Kept {
  readonly options: SupervisorOptions
  readonly queue: SignatureQueue
  /** By `nameOf`. */
  readonly keys: Map<string, OpenRequest>
  child: ForkedChild | undefined
  /** A child that is about to take over from the present one. */
  successor: ForkedChild | undefined
  replacing: Promise<void> | undefined
  channels: readonly SessionChannel[]
  /** Of the latest start; undefined from its failure until the next. */
  starting: Promise<void> | undefined
  /** Why there are no sessions; undefined before the first failure, and when a child is ready. */
  failure: Failure | undefined
  /** Until the next start. */
  pause: NodeJS.Timeout | undefined
  sweeping: NodeJS.Timeout | undefined
  sweptAt: number
  /** Failed starts in a row. */
  attempts: number
  readyAt: number
  loginPending: boolean
  /** A child died while it logged in: the token may have refused the PIN. */
  pinInDoubt: boolean
  closed: boolean
  /** The reason of the last failure that the log has. */
  logged: string | undefined
  /** The log has the shortage of sessions. */
  shortageLogged: boolean
}

/** Failures that end all attempts until the configuration changes. */
export const endings: Partial<Record<Failure['kind'], string>> = {
  pin: 'The token refused the PIN. It is not tried again until the configuration changes.',
  final: 'The PKCS#11 library refused its configuration. It is not started again until the configuration changes.',
}

export const nameOf = ({ number: _number, ...rest }: OpenRequest): string => JSON.stringify(rest)

const never = new AbortController().signal

const fail = (kept: Kept, of: ForkedChild, why: Failure): void => {
  if (kept.child !== of) return
  of.kill()
  kept.child = undefined
  kept.pinInDoubt ||= kept.loginPending
  kept.loginPending = false
  startAgain(kept, why)
}

const startAgain = (kept: Kept, why: Failure): void => {
  const { log } = kept.options
  kept.channels = []
  kept.starting = undefined
  kept.failure = why
  clearInterval(kept.sweeping)
  kept.queue.disconnect(errorOf(why))
  if (kept.closed) return
  const ending = endings[why.kind]
  if (ending !== undefined) return log.error(ending, { reason: why.message })
  if (performance.now() - kept.readyAt > healthyMs) kept.attempts = 0
  kept.readyAt = Infinity
  const delay = Math.min(backoffMs.last, backoffMs.first * 2 ** kept.attempts++) * (0.75 + Math.random() / 2)
  // A token that stays away deserves one line, not one every five seconds.
  const logRestart = why.message === kept.logged ? log.debug : log.warn
  kept.logged = why.message
  logRestart('The PKCS#11 process is being restarted.', { reason: why.message, delay_ms: Math.round(delay) })
  kept.pause = setTimeout(() => {
    kept.pause = undefined
    start(kept).catch(() => undefined)
  }, delay)
  kept.pause.unref()
}

const channelOf = (kept: Kept, of: ForkedChild, session: number): SessionChannel[] => {
  const socket = of.sockets[session]
  if (socket === undefined) return []
  return [openChannel(socket, of.pid, { answered: kept.queue.dispatch, reset: (why) => fail(kept, of, why) })]
}

const connect = (
  kept: Kept,
  of: ForkedChild,
  { sessions, shortage }: Extract<ChildReport, { event: 'ready' }>,
): void => {
  const {
    queue,
    options: { log, child: settings },
  } = kept
  const channels = sessions.flatMap((session) => channelOf(kept, of, session))
  kept.readyAt = performance.now()
  kept.failure = undefined
  kept.channels = channels
  if (shortage !== undefined && !kept.shortageLogged)
    log.warn(
      'The token grants fewer sessions than the option `sessions` asks for; Signet asks for the others from time to time.',
      {
        sessions: channels.length,
        asked_for: settings.sessions,
        reason: shortage,
      },
    )
  kept.shortageLogged = shortage !== undefined
  // Before anything is signed, each session reads the public halves again.
  for (const key of kept.keys.values()) for (const channel of channels) void openKeyOn(kept, key, channel)
  queue.connect(channels)
  kept.sweptAt = performance.now()
  kept.sweeping = setInterval(() => sweep(kept, of), sweepMs)
  kept.sweeping.unref()
  log.info('The PKCS#11 process is ready.', { child_pid: of.pid, sessions: channels.length })
}

/** The session learns the keys before it signs. */
const join = (kept: Kept, of: ForkedChild, session: number): void => {
  const { log, child: settings } = kept.options
  const joined = channelOf(kept, of, session)
  kept.channels = [...kept.channels, ...joined]
  for (const key of kept.keys.values()) for (const channel of joined) void openKeyOn(kept, key, channel)
  kept.queue.connect(kept.channels)
  if (kept.closed) for (const channel of joined) channel.end()
  log.info('The token grants a further session.', { sessions: kept.channels.length, asked_for: settings.sessions })
}

export const openKeyOn = async (
  { options: { deadlineMs, log } }: Kept,
  key: OpenRequest,
  channel: SessionChannel,
): Promise<void> => {
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

const sweep = (kept: Kept, of: ForkedChild): void => {
  const { deadlineMs } = kept.options
  const now = performance.now()
  // After a stall of our own, answers have arrived but were not read yet.
  const late = now - kept.sweptAt > deadlineMs / 2
  kept.sweptAt = now
  kept.queue.sweep(now, deadlineMs)
  // Every channel is swept; one that hangs ends them all.
  const states = kept.channels.map((channel) => channel.sweep(now, deadlineMs))
  if (!late && states.includes('hung'))
    fail(kept, of, {
      kind: 'reset',
      message: 'the token did not answer within the deadline, and the process was killed',
    })
}

/** Resolves when its first session is ready. */
export const start = (kept: Kept): Promise<void> => {
  const starting = startChild(kept)
  kept.starting = starting
  // Handles a failure that `fail` has not seen: the system could not create a process.
  starting.catch((error: unknown) => {
    if (kept.starting === starting)
      startAgain(kept, { kind: 'reset', message: `no process could be started: ${String(error)}` })
  })
  return starting
}

/**
 * Starts another child, which takes over as soon as its sessions are ready; the present one answers what it has
 * begun. Rejects when the other one cannot start.
 */
export const replaceChild = (kept: Kept): Promise<void> =>
  (kept.replacing ??= startChild(kept, kept.child).finally(() => {
    kept.replacing = undefined
  }))

/** Lets a child end after its last answer, or when that is late. */
const retire = (kept: Kept, old: ForkedChild, channels: readonly SessionChannel[]): void => {
  clearInterval(kept.sweeping)
  for (const channel of channels) channel.end()
  const hung = setTimeout(() => old.kill(), kept.options.deadlineMs)
  void old.ended.then((why) => {
    clearTimeout(hung)
    for (const channel of channels) channel.fail(errorOf(why))
  })
}

const failSuccessor = (kept: Kept, successor: ForkedChild): void => {
  successor.kill()
  kept.successor = undefined
  kept.pinInDoubt ||= kept.loginPending
  kept.loginPending = false
}

const startChild = (kept: Kept, old?: ForkedChild): Promise<void> =>
  new Promise<void>((resolve, reject) => {
    const { child: settings, environment } = kept.options
    const onReport = (report: ChildReport): void => {
      if (kept.child !== forked && kept.successor !== forked) return
      if (report.event === 'login-begins') {
        kept.loginPending = true
        forked.letLogin()
      } else if (report.event === 'login-ended') {
        kept.loginPending = false
        kept.pinInDoubt = false
      } else if (report.event === 'failed') end(report.failure)
      else if (report.event === 'joined') join(kept, forked, report.session)
      else {
        clearTimeout(late)
        // The present child may have ended meanwhile, and another one been started in its place.
        if (kept.child !== (old ?? forked)) return end({ kind: 'reset', message: 'another process was started' })
        if (old !== undefined) retire(kept, old, kept.channels)
        kept.child = forked
        kept.successor = undefined
        connect(kept, forked, report)
        resolve()
      }
    }
    const forked = forkChild({ ...settings, pinInDoubt: kept.pinInDoubt }, environment, onReport)
    const end = (why: Failure): void => {
      clearTimeout(late)
      reject(errorOf(why))
      if (kept.successor === forked) failSuccessor(kept, forked)
      else fail(kept, forked, why)
    }
    const late = setTimeout(() => end({ kind: 'reset', message: 'the PKCS#11 library did not start in time' }), startMs)
    if (old === undefined) kept.child = forked
    else kept.successor = forked
    void forked.ended.then(end)
  })
