import { fork, type ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { ChildOptions, ChildReport } from './protocol.js'
import type { Failure } from './return-codes.js'

/** What any program needs, and nothing that may be a secret of ours: the PIN is often in our environment. */
const inherited = ['PATH', 'HOME', 'USER', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'LD_LIBRARY_PATH']

export interface ForkedChild {
  readonly pid: number
  /** One for each session. */
  readonly sockets: readonly Socket[]
  readonly ended: Promise<Failure>
  /** Answers `login-begins`. */
  letLogin(): void
  kill(): void
}

/** Compiled, also when this file is run from its source: threads start without a loader of TypeScript. */
const childFile = import.meta.url.endsWith('.ts') ? '../../dist/signers/pkcs11/child.js' : './child.js'

/** Starts the process; it is ready when it reports so. */
export const forkChild = (
  options: ChildOptions,
  environment: Readonly<Record<string, string>>,
  onReport: (report: ChildReport) => void,
): ForkedChild => {
  const env = Object.fromEntries(inherited.flatMap((name) => (name in process.env ? [[name, process.env[name]]] : [])))
  const sessions = Array.from({ length: options.sessions }, () => 'pipe' as const)
  const child = fork(fileURLToPath(new URL(childFile, import.meta.url)), [], {
    env: { ...env, ...environment },
    // Not ours: an inspector's port is taken, and a profile is of one process.
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
