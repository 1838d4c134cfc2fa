import { request, type IncomingHttpHeaders } from 'node:http'
import { text as readText } from 'node:stream/consumers'

/**
 * Milliseconds for a reload, each contained in the next: one worker, which may have to open keys; all of them, the
 * first alone and then the others together; and the caller's wait.
 */
export const reloadDeadlines = { worker: 25_000, all: 55_000, caller: 60_000 } as const

export interface WorkerAnswer {
  readonly status: number
  readonly body: string
  /** Lower-case names. */
  readonly headers?: IncomingHttpHeaders
}

/** A request to a worker. Without a method: POST with a body, GET without one. */
export interface WorkerQuestion {
  readonly path: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: { readonly type: string; readonly text: string }
}

/**
 * Calls the admin listener of a worker over its socket. Rejects with the system's error, and when `signal` is
 * aborted.
 */
export const askWorker = (
  socketPath: string,
  { path, body, headers: sent, method = body === undefined ? 'GET' : 'POST' }: WorkerQuestion,
  signal: AbortSignal,
): Promise<WorkerAnswer> =>
  new Promise((resolve, reject) => {
    const headers = {
      ...sent,
      ...(body !== undefined && { 'Content-Type': body.type, 'Content-Length': Buffer.byteLength(body.text) }),
    }
    const asked = request({ socketPath, path, method, headers, signal, agent: false }, (response) => {
      const { statusCode: status = 0, headers: answered } = response
      readText(response).then((answer) => resolve({ status, body: answer, headers: answered }), reject)
    })
    asked.once('error', reject)
    asked.end(body?.text)
  })
