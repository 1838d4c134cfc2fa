import { execFile } from 'node:child_process'
import { createRequire } from 'node:module'
import { damaged } from './store-file.js'

/** Milliseconds. Node has to start within it, even on a busy machine. */
const probeMs = 10_000
/** Milliseconds for reading records: the start of a store, or all of one that seems truncated. */
const readMs = { whole: 200, short: 5000 } as const
const damage = 3

const script = `
const [lmdb, path, readMs] = process.argv.slice(1)
const root = require(lmdb).open({ path, noSubdir: false, permissionsMode: 0o600, overlappingSync: false, maxDbs: 2, name: null })
try {
  const keyEncoding = 'binary'
  const end = Date.now() + Number(readMs)
  const tables = ['records', 'expiry'].map((name) => root.openDB({ name, encoding: 'binary', keyEncoding, useVersions: name === 'records' }))
  for (const table of tables) {
    let count = 0
    for (const _ of table.getRange()) if (++count % 256 === 0 && Date.now() > end) break
  }
  const key = Buffer.from('\\0probe')
  tables[0].transactionSync(() => {
    tables[0].putSync(key, Buffer.alloc(1), 1)
    tables[0].removeSync(key)
  })
} catch (error) {
  if (/MDB_(CORRUPTED|PAGE_NOTFOUND|INVALID|PANIC|PROBLEM|BAD_)|corrupt|Located page/i.test(String(error))) process.exit(${String(damage)})
}
process.exit()`

/**
 * LMDB opens a store under its write lock, and a process waiting for that does nothing else, not even handle signals;
 * a missing page ends the process that reads it. So a child first opens the store, reads and writes. Throws when the
 * child waits in vain, dies or finds damage; opening reports anything else.
 */
export const probeStore = async (path: string, file: 'whole' | 'short'): Promise<void> => {
  const lmdb = createRequire(import.meta.url).resolve('lmdb')
  const options = { env: {}, timeout: probeMs, killSignal: 'SIGKILL' } as const
  const args = ['-e', script, lmdb, path, String(readMs[file])]
  const failure = await new Promise<Parameters<Parameters<typeof execFile>[3] & object>[0]>((resolve) => {
    execFile(process.execPath, args, options, (error) => resolve(error))
  })
  if (failure?.killed === true) throw new Error('another process has the store open')
  if (failure?.code === damage) throw damaged(path, 'a page of data.mdb cannot be read')
  if (typeof failure?.signal === 'string')
    throw damaged(
      path,
      file === 'short' ? 'data.mdb was cut off' : `a process that read data.mdb died of ${failure.signal}`,
    )
}
