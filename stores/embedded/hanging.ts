/** Milliseconds after which a transaction may never end. */
const hangingMs = 1_000

/**
 * Node waits for its threads on exit, and a thread of LMDB may wait for a lock that is never released. While `work`
 * hangs, an exit kills the process, which loses nothing that was reported as done.
 */
export const exitInSpiteOf = (work: Promise<unknown>): void => {
  if (!isWatching) process.once('exit', killIfHanging)
  isWatching = true
  inFlight.set(work, performance.now())
  const end = () => void inFlight.delete(work)
  work.then(end, end)
}

/** When each started. */
const inFlight = new Map<Promise<unknown>, number>()
let isWatching = false

const killIfHanging = (): void => {
  const now = performance.now()
  if (![...inFlight.values()].some((since) => now - since > hangingMs)) return
  process.kill(process.pid, 'SIGKILL')
  // The first process of a container cannot kill itself.
  process.abort()
}
