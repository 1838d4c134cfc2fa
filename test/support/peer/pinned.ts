import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'

export type Pinned = ChildProcess & { readonly pid: number }

/** Starts Node with all its threads bound to one core, or to a list of them (taskset(1) replaces itself, so the pid is Node's). */
export const startPinned = (core: number | string, args: readonly string[], stdout?: number): Pinned => {
  const child = spawn('taskset', ['-c', String(core), process.execPath, ...args], {
    stdio: ['ignore', stdout ?? 'ignore', 'inherit', 'ipc'],
    serialization: 'advanced',
    env: { ...process.env, NODE_ENV: 'production' },
  })
  if (child.pid === undefined) throw new Error('taskset could not be started: the benchmark needs Linux')
  return child as Pinned
}

/** The next message of a child. Throws when it ends instead. */
export const receive = async (child: Pinned): Promise<unknown> => {
  const ended = new AbortController()
  const exit = once(child, 'exit', { signal: ended.signal }).then(([code]) => {
    throw new Error(`A process of the benchmark ended with ${String(code)}`)
  })
  try {
    const [message] = (await Promise.race([once(child, 'message', { signal: ended.signal }), exit])) as [unknown]
    return message
  } finally {
    ended.abort()
    exit.catch(() => undefined)
  }
}

export const stop = async (child: Pinned): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGTERM')
  await exit
}
