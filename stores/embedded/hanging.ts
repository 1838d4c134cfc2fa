/** Milliseconds after which a transaction counts as one that may never end. */
const hangingMs = 1_000

/**
 * Node waits for its threads when the process exits, and one of LMDB's may wait for a lock that nobody gives back. While
 * `work` hangs, an exit is that of a process that was killed, which costs nothing that was reported as done.
 */
export const exitInSpiteOf = (work: Promise<unknown>): void => {
  if (!isWatching) process.once('exit', killIfHanging)
  isWatching = true
  underway.set(work, performance.now())
  const end = () => void underway.delete(work)
  work.then(end, end)
}

/** Since when. */
const underway = new Map<Promise<unknown>, number>()
let isWatching = false

const killIfHanging = (): void => {
  const now = performance.now()
  if (![...underway.values()].some((since) => now - since > hangingMs)) return
  process.kill(process.pid, 'SIGKILL')
  // The first process of a container cannot kill itself.
  process.abort()
}
