import { createRequire } from 'node:module'
import { styleText } from 'node:util'

/** A line of the log as pino writes it. */
interface Line {
  readonly msg?: unknown
  readonly time?: unknown
}

/** What a request's line shows to people. */
interface RequestLine extends Line {
  readonly method: string
  readonly path: string
  readonly status: number | string
  readonly ms: number
  readonly request_id: string
  readonly error?: string
  readonly reason?: string
}

/** The log for people at a terminal: the format of pino-pretty, with one line per request. */
export const createTerminalLog = (print: (text: string) => void): { write(line: string): void } => {
  // Not loaded by a service without a terminal.
  const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof import('pino-pretty')
  const render = prettyFactory({ ignore: 'pid', translateTime: 'SYS:HH:MM:ss' })
  return {
    write(text) {
      const line = JSON.parse(text) as Line
      if (line.msg !== 'request') print(render(text))
      // Assets are left out, because every page loads some.
      else if (!/\/assets\/[^/]*$/.test((line as RequestLine).path)) print(`${describeRequest(line as RequestLine)}\n`)
    },
  }
}

/**
 * `04:02:37 POST /token 400 12 ms 3571ec1a invalid_grant: code was already used`. The start of the request id finds
 * the line in the audit log.
 */
const describeRequest = ({ time, method, path, status, ms, request_id, error, reason }: RequestLine): string => {
  const clock = new Date(String(time)).toTimeString().slice(0, 8)
  const shown = path.replaceAll(/[^\x21-\x7e]/g, '?')
  const why = error === undefined ? '' : ` ${error}${reason === undefined ? '' : `: ${reason}`}`
  const text = `${clock} ${method} ${shown} ${String(status)} ${String(Math.round(ms))} ms ${request_id.slice(0, 8)}${why}`
  const isFailure = typeof status !== 'number' || status >= 500
  return isFailure && process.stdout.isTTY && process.stdout.hasColors() ? styleText('red', text) : text
}
