import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { open, type RootDatabase } from 'lmdb'
import { createCommitter, type Committer } from './committer.js'
import { createDiskRoom, type DiskRoom } from './disk-room.js'
import { dataFile, examineStoreFile } from './store-file.js'
import { probeStore } from './store-probe.js'
import { sizeOf, type Tables } from './tables.js'

/** One open LMDB environment. LMDB allows one per path and process, so all backends of a path share it. */
export interface Environment extends Tables {
  readonly committer: Committer
  readonly disk: DiskRoom
  readonly isFull: () => boolean
  /** Clears slots of dead readers, whose snapshots would prevent the reuse of old pages. */
  readerCheck(): void
  release(): Promise<void>
}

interface Shared {
  readonly environment: Environment
  readonly root: RootDatabase
  readonly maxBytes: number
  users: number
  closing?: Promise<void>
}

const shared = new Map<string, Shared>()

/** The size of an empty store. */
const emptyBytes = 64 * 1024

const openShared = (path: string, maxBytes: number): Shared => {
  const disk = createDiskRoom(path)
  if (!existsSync(dataFile(path)) && disk.left() < emptyBytes) throw new Error('the disk is full')
  const options = {
    path,
    // A name with a dot is a directory as well.
    noSubdir: false,
    permissionsMode: 0o600,
    maxDbs: 2,
    // This is address space only; the limit is `maxBytes`. Consuming and collecting need space above it.
    mapSize: maxBytes * 2,
    // Each commit is one explicit batch; implicit ones leave a rejected promise behind when a commit fails.
    eventTurnBatching: false,
    // LMDB's original behaviour: a commit is on disk before the write lock is released. The alternative has a second
    // lock, and if its owner dies by `kill -9`, the environment of another process can become unusable (MDB_PANIC).
    overlappingSync: false,
  }
  const root = open({ ...options, name: null as unknown as string })
  const keyEncoding = 'binary'
  const records = root.openDB<string, Buffer>({ name: 'records', encoding: 'string', keyEncoding, useVersions: true })
  const expiry = root.openDB<Buffer, Buffer>({ name: 'expiry', encoding: 'binary', keyEncoding })
  const tables = { records, expiry }
  const isFull = () => {
    const { used, free } = sizeOf(tables)
    return used >= maxBytes || disk.left() + free / 2 < disk.forConsuming
  }
  const release = async () => {
    entry.users -= 1
    if (entry.users > 0) return
    entry.closing = root.close().finally(() => shared.delete(path))
    await entry.closing
  }
  const environment: Environment = {
    ...tables,
    committer: createCommitter(tables, isFull, disk),
    disk,
    isFull,
    readerCheck: () => void root.readerCheck(),
    release,
  }
  const entry: Shared = { environment, root, maxBytes, users: 0 }
  return entry
}

/**
 * Opens the environment at `path`, or shares the one that this process has open. Throws the error of LMDB or the
 * disk.
 */
export const acquireEnvironment = async (path: string, maxBytes: number): Promise<Environment> => {
  mkdirSync(path, { recursive: true, mode: 0o700 })
  const real = realpathSync(path)
  await shared.get(real)?.closing
  if (!shared.has(real)) {
    const file = await examineStoreFile(real)
    if (file !== 'absent') await probeStore(real, file)
  }
  const found = shared.get(real) ?? openShared(real, maxBytes)
  if (found.maxBytes !== maxBytes) throw new Error(`${path} is already open with another max_size_mb`)
  shared.set(real, found)
  found.users += 1
  return found.environment
}
