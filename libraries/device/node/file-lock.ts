import { randomUUID } from 'node:crypto'
import { link, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout } from 'node:timers/promises'

/** The holder of the lock, as in the file. */
interface Holder {
  readonly token: string
  readonly host: string
  readonly pid: number
  /** When the process started, in its system's units, because another process may get the same number later. */
  readonly started?: string
}

/** Milliseconds. No renewal takes this long, so a holder older than this hangs, or its host is gone. */
const longestHeld = 60_000

/**
 * Runs one at a time over all processes that name this file. A lock whose holder died, or that is older than a
 * minute, is taken over by exactly one of them.
 */
export const createFileLock = (path: string): (<T>(work: () => Promise<T>) => Promise<T>) => {
  let last: Promise<unknown> = Promise.resolve()
  const locked = async <T>(work: () => Promise<T>): Promise<T> => {
    const token = await acquire(path)
    try {
      return await work()
    } finally {
      // The lock may have been taken over by another process.
      if ((await read(path))?.token === token) await rm(path, { force: true })
    }
  }
  return (work) => {
    const mine = last.then(() => locked(work))
    last = mine.catch(() => undefined)
    return mine
  }
}

const acquire = async (path: string): Promise<string> => {
  const token = randomUUID()
  const started = await startOf(process.pid)
  const holder: Holder = { token, host: hostname(), pid: process.pid, ...(started !== undefined && { started }) }
  // Written completely and then linked, so that nobody reads half a lock.
  const own = `${path}.${token}`
  await writeFile(own, JSON.stringify(holder), { flag: 'wx', mode: 0o600 })
  try {
    for (;;) {
      // The file's age is that of the lock: time spent waiting does not count.
      await utimes(own, new Date(), new Date())
      if ((await isNew(own, path)) || (await takeOver(own, path))) return token
      await setTimeout(20 + Math.random() * 60)
    }
  } finally {
    await rm(own, { force: true })
  }
}

/** `link` fails if the file exists, so exactly one of several callers succeeds. */
const isNew = async (from: string, to: string): Promise<boolean> => {
  try {
    await link(from, to)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/**
 * Of the processes that see the same stale lock, one gets the file named after its token, and only that one may
 * replace it. Returns true when the caller has the lock.
 */
const takeOver = async (own: string, path: string): Promise<boolean> => {
  const stale = await read(path)
  if (stale === undefined || !(await isStale(stale, path))) return false
  const right = `${path}.over-${stale.token}`
  if (!(await isNew(own, right))) {
    // Its owner died too.
    if (await isOld(right)) await rm(right, { force: true })
    return false
  }
  try {
    if ((await read(path))?.token !== stale.token) return false
    await rename(own, path)
    return true
  } finally {
    await rm(right, { force: true })
  }
}

const isStale = async ({ host, pid, started }: Holder, path: string): Promise<boolean> => {
  if (await isOld(path)) return true
  if (host !== hostname()) return false
  return !isAlive(pid) || (await startOf(pid)) !== started
}

/** Also works with a clock that stepped back. */
const isOld = async (path: string): Promise<boolean> => {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined && Math.abs(Date.now() - found.mtimeMs) > longestHeld
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}

/**
 * proc(5): the 22nd field of `stat`; the second, in parentheses, may contain anything. Undefined where that does not
 * exist.
 */
const startOf = async (pid: number): Promise<string | undefined> => {
  const text = await readFile(`/proc/${String(pid)}/stat`, 'utf8').catch(() => undefined)
  return text?.slice(text.lastIndexOf(')') + 2).split(' ')[19]
}

/** Undefined if there is none at the moment. An unreadable one has no known holder, only an age. */
const read = async (path: string): Promise<Holder | undefined> => {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  })
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Holder
  } catch {
    return { token: 'unreadable', host: '', pid: 0 }
  }
}
