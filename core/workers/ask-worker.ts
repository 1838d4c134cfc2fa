import { request } from 'node:http'
import { text as readText } from 'node:stream/consumers'

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
  body?: { readonly type: string; readonly text: string },
): Promise<WorkerAnswer> =>
  new Promise((resolve, reject) => {
    const headers =
      body === undefined ? {} : { 'Content-Type': body.type, 'Content-Length': Buffer.byteLength(body.text) }
    const method = body === undefined ? 'GET' : 'POST'
    const asked = request({ socketPath, path, method, headers, signal, agent: false }, (response) => {
      readText(response).then((answer) => resolve({ status: response.statusCode ?? 0, body: answer }), reject)
    })
    asked.once('error', reject)
    asked.end(body?.text)
  })
