import type { Worker } from 'node:cluster'
import { isProofs, type SharedProofs } from '../keys/shared-proofs.js'

/** Tells a worker that it proves the keys for all workers of its host. */
const leadMessage = 'lead_probes'

/** The part of the process above the workers: it chooses who proves the keys, and passes on the outcome. */
export interface ProbeLead {
  /** A worker serves now. */
  started(number: number, worker: Worker): void
  ended(number: number): void
}

const send = (worker: Worker, message: string | object): void => {
  // A worker that has just exited is replaced as soon as that is known.
  if (worker.isConnected()) worker.send(message, () => undefined)
}

export const createProbeLead = (): ProbeLead => {
  const serving = new Map<number, Worker>()
  let leading: number | undefined
  const choose = (): void => {
    if (leading !== undefined || serving.size === 0) return
    leading = Math.min(...serving.keys())
    const first = serving.get(leading)
    if (first !== undefined) send(first, leadMessage)
  }
  return {
    started(number, worker) {
      serving.set(number, worker)
      worker.on('message', (message: unknown) => {
        if (number !== leading || !isProofs(message)) return
        for (const [other, one] of serving) if (other !== number) send(one, { proofs: message.proofs })
      })
      choose()
    },
    ended(number) {
      serving.delete(number)
      if (leading === number) leading = undefined
      choose()
    },
  }
}

/** The part of a worker. */
export const shareProofs = (): SharedProofs => {
  let leads = false
  let hear: Parameters<SharedProofs['listen']>[0] | undefined
  process.on('message', (message: unknown) => {
    if (message === leadMessage) leads = true
    else if (isProofs(message)) hear?.(message.proofs)
  })
  return {
    pool: String(process.ppid),
    leads: () => leads,
    send(proofs) {
      // The process above may have ended, and this one is about to.
      if (leads && process.connected) process.send?.({ proofs }, undefined, undefined, () => undefined)
    },
    listen: (listener) => void (hear = listener),
  }
}
