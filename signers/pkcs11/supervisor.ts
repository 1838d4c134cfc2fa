import { Unavailable, until, type PublicJwk } from '../../core/api/signer.js'
import { endings, nameOf, replaceChild, start, openKeyOn, type Kept, type SupervisorOptions } from './kept-child.js'
import type { ControlRequest, ControlResults, OpenRequest } from './protocol.js'
import { component, errorOf, isMissing, type SessionChannel } from './session-channel.js'
import { createSignatureQueue, type SignatureQueue } from './signature-queue.js'

const closeMs = 2000

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
  /** Asks a new process, whose library has no old list of objects. Throws as `ask`. */
  askAnother<Request extends ControlRequest>(
    request: Request,
    signal: AbortSignal,
    allowanceMs: number,
  ): Promise<ControlResults[Request['do']]>
  /**
   * Looks for a key. If the library does not show it but a new process sees it, the child is replaced, because
   * libraries keep lists of objects that may be old (SoftHSM loses a key that it reads while another process makes
   * it). No signature fails for it. Throws as `ask`.
   */
  open(request: OpenRequest, signal: AbortSignal): Promise<PublicJwk>
  /**
   * Registers the key with every session of every child from now on; they refuse any other key with its name.
   * Resolves with the number to sign with (that of an earlier opening of the same key) once all sessions have looked
   * for it, because SoftHSM fails to create a key while another session reads the list of objects. Rejects with the
   * signal's reason.
   */
  adopt(key: OpenRequest, signal: AbortSignal): Promise<number>
}

const ready = async (kept: Kept, signal: AbortSignal): Promise<void> => {
  signal.throwIfAborted()
  if (kept.closed) throw new Unavailable(component, 'no', 'The signer is closed.')
  if (kept.channels.length > 0) return
  if (kept.starting === undefined && kept.failure !== undefined) throw errorOf(kept.failure)
  await until(signal, () => kept.starting ?? start(kept))
}

const leastBusy = ({ channels }: Kept): SessionChannel => {
  const [best] = [...channels].sort((a, b) => a.waiting - b.waiting)
  if (best === undefined) throw new Unavailable(component, 'no', 'The PKCS#11 process is not running.')
  return best
}

/** Asks a process of its own, which has the library read the token again. */
const askAnother = async <Request extends ControlRequest>(
  options: SupervisorOptions,
  request: Request,
  signal: AbortSignal,
  allowanceMs: number,
): Promise<ControlResults[Request['do']]> => {
  await using another = supervise({ ...options, child: { ...options.child, sessions: 1 } })
  return await another.ask(request, signal, allowanceMs)
}

const adopt = async (kept: Kept, key: OpenRequest, signal: AbortSignal): Promise<number> => {
  const name = nameOf(key)
  const known = kept.keys.get(name)
  if (known !== undefined) return known.number
  kept.keys.set(name, key)
  const adopted = Promise.all(kept.channels.map((channel) => openKeyOn(kept, key, channel)))
  await until(signal, () => adopted)
  return key.number
}

const close = async (kept: Kept): Promise<void> => {
  kept.closed = true
  clearTimeout(kept.pause)
  kept.successor?.kill()
  const last = kept.child
  if (last === undefined) return
  for (const channel of kept.channels) channel.end()
  const hung = setTimeout(() => last.kill(), kept.channels.length > 0 ? closeMs : 0)
  await last.ended
  clearTimeout(hung)
}

/**
 * Supervises one child: starts it, kills it when it hangs, restarts it with growing pauses, and never repeats a wrong
 * PIN.
 */
export const supervise = (options: SupervisorOptions): Supervisor => {
  const queue = createSignatureQueue()
  const kept: Kept = {
    options,
    queue,
    keys: new Map(),
    child: undefined,
    successor: undefined,
    replacing: undefined,
    channels: [],
    starting: undefined,
    failure: undefined,
    pause: undefined,
    sweeping: undefined,
    sweptAt: 0,
    attempts: 0,
    readyAt: Infinity,
    loginPending: false,
    pinInDoubt: false,
    closed: false,
    logged: undefined,
    shortageLogged: false,
  }
  const ask: Supervisor['ask'] = async (request, signal, allowanceMs = options.deadlineMs) => {
    await ready(kept, signal)
    return await until(signal, () => leastBusy(kept).ask(request, signal, allowanceMs))
  }
  return {
    ask,
    askAnother: (request, signal, allowanceMs) => askAnother(options, request, signal, allowanceMs),
    async open(request, signal) {
      try {
        return await ask(request, signal)
      } catch (error) {
        const { child } = kept
        if (!isMissing(error) || child === undefined) throw error
        await askAnother(options, request, signal, options.deadlineMs).catch(() => {
          throw error
        })
        options.log.warn('The library does not show a key that a new process sees; the PKCS#11 process is replaced.')
        if (kept.child === child) await until(signal, () => replaceChild(kept))
        return await ask(request, signal)
      }
    },
    get room() {
      return queue.room
    },
    get refusal() {
      const { failure } = kept
      return failure !== undefined && failure.kind in endings ? failure.message : undefined
    },
    sign(key, message, signal, trace) {
      if (kept.channels.length > 0 || signal.aborted) return queue.sign(key, message, signal, trace)
      const { failure } = kept
      return Promise.reject(
        failure === undefined ? new Unavailable(component, 'no', 'The PKCS#11 process is starting.') : errorOf(failure),
      )
    },
    adopt: (key, signal) => adopt(kept, key, signal),
    [Symbol.asyncDispose]: () => close(kept),
  }
}
