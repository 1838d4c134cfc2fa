import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

export const dataFile = (path: string): string => join(path, 'data.mdb')
const lockFile = (path: string): string => join(path, 'lock.mdb')

/** Milliseconds that another process may take between creating the two files of a new store. */
const creationMs = 2000
const pollMs = 20

/** `MDB_meta` of lmdb.h, after the header of a page. Its two copies are the first two pages of the file. */
const meta = { magic: 0x18, version: 0x1c, pageSize: 0x30, lastPage: 0x90, transaction: 0x98, end: 0xa0 } as const
const magic = 0xbeefc0de
const version = 2

const remedy = 'restore a backup of it, or move the directory away to start with an empty store'

/**
 * True when there is nothing of a store at `path`. A path that cannot be read counts as existing: opening it reports
 * why.
 */
export const isMissing = (path: string): boolean =>
  [dataFile(path), lockFile(path)].every((file) => {
    try {
      return statSync(file, { throwIfNoEntry: false }) === undefined
    } catch {
      return false
    }
  })

/** What is wrong with a store, and what helps. */
export const damaged = (path: string, why: string): Error =>
  new Error(`the store ${path} is damaged: ${why}; ${remedy}`)

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** Throws when this process may not use the existing files. */
export const checkAccess = (path: string): void => {
  for (const file of [path, dataFile(path), lockFile(path)].filter((name) => existsSync(name))) {
    try {
      accessSync(file, constants.R_OK | constants.W_OK)
    } catch (cause) {
      const { uid, mode } = statSync(file)
      const owner = `it belongs to user ${String(uid)} and has mode ${(mode & 0o777).toString(8)}`
      const us = `Signet runs as user ${String(process.getuid?.() ?? '')}`
      const message = `the store ${path} cannot be read and written: ${file}: ${owner}, and ${us}; give it to that user`
      throw new Error(message, { cause })
    }
  }
}

/**
 * True when there is a store. A file that LMDB would initialise as a new store beside remains of an old one does not
 * count.
 */
const isThere = async (path: string): Promise<boolean> => {
  if (!existsSync(dataFile(path)) && !existsSync(lockFile(path))) return false
  const isEmpty = () => sizeOf(dataFile(path)) === 0
  for (let waited = 0; isEmpty() && waited < creationMs; waited += pollMs) await pause(pollMs)
  if (!isEmpty()) return true
  const name = existsSync(dataFile(path)) ? 'data.mdb is empty' : 'lock.mdb is there and data.mdb is missing'
  throw damaged(path, name)
}

const readMeta = async (path: string): Promise<{ readonly expectedBytes: number }> => {
  await using file = await open(dataFile(path), 'r')
  const readAt = async (position: number): Promise<Buffer> => {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(meta.end), 0, meta.end, position)
    if (bytesRead < meta.end) throw damaged(path, 'data.mdb was cut off')
    if (buffer.readUInt32LE(meta.magic) !== magic) throw damaged(path, 'data.mdb is not a file of LMDB')
    const found = buffer.readUInt32LE(meta.version)
    if (found !== version)
      throw damaged(
        path,
        `data.mdb has version ${String(found)} of LMDB's format, and this program needs ${String(version)}`,
      )
    return buffer
  }
  const first = await readAt(0)
  const pageSize = first.readUInt32LE(meta.pageSize)
  if (pageSize < 512 || pageSize > 65_536 || (pageSize & (pageSize - 1)) !== 0)
    throw damaged(path, 'data.mdb has no valid size of pages')
  const second = await readAt(pageSize)
  const transactionOf = (page: Buffer) => page.readBigUInt64LE(meta.transaction)
  const newest = transactionOf(second) > transactionOf(first) ? second : first
  const lastPage = newest.readBigUInt64LE(meta.lastPage)
  return { expectedBytes: (Number(lastPage) + 1) * pageSize }
}

/**
 * Checks the files before LMDB maps them, because a missing page would end the process. `short`: the missing pages
 * may be free ones. Throws with a message for the operator.
 */
export const examineStoreFile = async (path: string): Promise<'absent' | 'whole' | 'short'> => {
  checkAccess(path)
  if (!(await isThere(path))) return 'absent'
  const { expectedBytes } = await readMeta(path)
  // Read last, because another process may be adding pages.
  return sizeOf(dataFile(path)) < expectedBytes ? 'short' : 'whole'
}
