import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'

/** Milliseconds. Node has to start in it, also where there is much else to do. */
const probeMs = 10_000

const script = `
const [lmdb, path] = process.argv.slice(1)
require(lmdb).open({ path, noSubdir: false, permissionsMode: 0o600, overlappingSync: false })
process.exit()`

/**
 * LMDB opens a store under its write lock, and a process that waits for that does nothing else: it takes no signal either. So
 * a child opens it first. Throws when the child waits in vain; what else is wrong with the store its opening shows.
 */
export const checkLock = async (path: string): Promise<void> => {
  const lmdb = createRequire(import.meta.url).resolve('lmdb')
  const options = { env: {}, timeout: probeMs, killSignal: 'SIGKILL' } as const
  const isHeld = await new Promise<boolean>((resolve) => {
    execFile(process.execPath, ['-e', script, lmdb, path], options, (error) => resolve(error?.killed === true))
  })
  if (isHeld) throw new Error('another process has the store open')
}
