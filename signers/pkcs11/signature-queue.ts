import { Unavailable, type SignatureTrace } from '../../core/api/signer.js'
import { component, type SessionChannel, type SignatureJob } from './session-channel.js'

/** More than the number of requests that can be open at once. Beyond it the process is not keeping up. */
const maxWaiting = 10_000

export interface SignatureQueue {
  /** How many signatures keep every session busy. Undefined while there is no session. */
  readonly room: number | undefined
  /** Rejects with the signal's reason, with `Unavailable`, or with the session's error. */
  sign(key: number, message: Uint8Array, signal: AbortSignal, trace?: SignatureTrace): Promise<Uint8Array>
  connect(channels: readonly SessionChannel[]): void
  /** Rejects all waiting signatures. */
  disconnect(error: Error): void
  /** Sends as many as the sessions accept. */
  dispatch(): void
  /** Rejects aborted signatures and those that have waited longer than `deadlineMs`. */
  sweep(now: number, deadlineMs: number): void
}

/**
 * Sends the signatures of one turn of the event loop to the sessions together, one message each. The rest wait here
 * and not in a session, so that those aborted meanwhile never reach the token.
 */
export const createSignatureQueue = (): SignatureQueue => {
  let waiting: SignatureJob[] = []
  let channels: readonly SessionChannel[] = []
  let scheduled = false

  const nextChannel = (): SessionChannel | undefined => {
    let best: SessionChannel | undefined
    for (const channel of channels)
      if (channel.free() > 0 && (best === undefined || channel.waiting < best.waiting)) best = channel
    return best
  }

  const dispatch = (): void => {
    if (waiting.length === 0) return
    const live = waiting.filter((job) => {
      if (job.signal.aborted) job.reject(job.signal.reason)
      return !job.signal.aborted
    })
    const share = Math.ceil(live.length / Math.max(channels.length, 1))
    let sent = 0
    while (sent < live.length) {
      const channel = nextChannel()
      if (channel === undefined) break
      const count = Math.min(channel.free(), Math.max(share, channel.worthwhile()))
      channel.send(live.slice(sent, sent + count))
      sent += count
    }
    waiting = live.slice(sent)
  }

  const turn = (): void => {
    scheduled = false
    dispatch()
  }

  return {
    get room() {
      if (channels.length === 0) return undefined
      // As many again wait here, so that a session gets its next work as soon as it has answered.
      return channels.reduce((sum, { window }) => sum + 2 * window, 0)
    },
    sign(key, message, signal, trace) {
      if (signal.aborted) return Promise.reject(signal.reason as Error)
      if (waiting.length >= maxWaiting)
        return Promise.reject(new Unavailable(component, 'no', 'Too many signatures are waiting.'))
      return new Promise((resolve, reject) => {
        waiting.push({ key, message, signal, trace, since: performance.now(), resolve, reject })
        if (!scheduled) setImmediate(turn)
        scheduled = true
      })
    },
    connect(connected) {
      channels = connected
    },
    disconnect(error) {
      for (const job of waiting) job.reject(error)
      for (const channel of channels) channel.fail(error)
      waiting = []
      channels = []
    },
    dispatch,
    sweep(now, deadlineMs) {
      waiting = waiting.filter((job) => {
        if (job.signal.aborted) job.reject(job.signal.reason)
        else if (now - job.since > deadlineMs)
          job.reject(new Unavailable(component, 'no', 'No session was free within the deadline.'))
        else return true
        return false
      })
    },
  }
}
