import { request } from 'node:http'
import { text } from 'node:stream/consumers'

/**
 * Milliseconds for a reload, each within the next: one worker, who may have to open keys; all of them, the first one alone
 * and then the others together, and for those who ask for it.
 */
export const reloadDeadlines = { worker: 25_000, all: 55_000, caller: 60_000 } as const

export interface WorkerAnswer {
  readonly status: number
  readonly body: string
}

/** Asks the admin listener of a worker, over its socket. Rejects with the system's error, and when `signal` is aborted. */
export const askWorker = (
  socketPath: string,
  path: string,
  signal: AbortSignal,
  form?: string,
): Promise<WorkerAnswer> =>
  new Promise((resolve, reject) => {
    const headers =
      form === undefined
        ? {}
        : { 'Content-Type': 'application/x-www-form-urlencoded', 'Content-Length': Buffer.byteLength(form) }
    const method = form === undefined ? 'GET' : 'POST'
    const asked = request({ socketPath, path, method, headers, signal, agent: false }, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject)
    })
    asked.once('error', reject)
    asked.end(form)
  })
