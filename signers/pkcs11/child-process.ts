import { fork, type ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { ChildOptions, ChildReport } from './protocol.js'
import type { Failure } from './return-codes.js'

/** Variables that any program needs, and none that may be a secret: the PIN is often in our environment. */
const inherited = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'LD_LIBRARY_PATH']

export interface ForkedChild {
  readonly pid: number
  /** One socket per session. */
  readonly sockets: readonly Socket[]
  readonly ended: Promise<Failure>
  /** Answers `login-begins`. */
  letLogin(): void
  kill(): void
}

/** Compiled, even when this file runs from source, because threads start without a TypeScript loader. */
const childFile = import.meta.url.endsWith('.ts') ? '../../dist/signers/pkcs11/child.js' : './child.js'

/** Starts the process, which reports when it is ready. */
export const forkChild = (
  options: ChildOptions,
  environment: Readonly<Record<string, string>>,
  onReport: (report: ChildReport) => void,
): ForkedChild => {
  const env = Object.fromEntries(inherited.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : [])))
  const sessions = Array.from({ length: options.sessions }, () => 'pipe' as const)
  const child = fork(fileURLToPath(new URL(childFile, import.meta.url)), [], {
    env: { ...env, ...environment },
    // Our own arguments are not passed on: an inspector's port is taken, and a profile belongs to one process.
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc', ...sessions],
  })
  child.on('message', (report) => onReport(report as ChildReport))
  child.send(options, () => undefined)
  return {
    pid: child.pid ?? 0,
    sockets: child.stdio.slice(4) as unknown as readonly Socket[],
    ended: endOf(child),
    letLogin: () => void child.send('login', () => undefined),
    kill: () => void child.kill('SIGKILL'),
  }
}

const endOf = (child: ChildProcess): Promise<Failure> =>
  new Promise((resolve) => {
    child.once('error', (error) =>
      resolve({ kind: 'reset', message: `the PKCS#11 process cannot be started: ${error.message}` }),
    )
    child.once('exit', (code, signal) =>
      resolve({ kind: 'reset', message: `the PKCS#11 process ended (${signal ?? code})` }),
    )
  })
