import { existsSync, mkdirSync, realpathSync } from 'node:fs'
import { open, type RootDatabase } from 'lmdb'
import { createCommitter, type Committer } from './committer.js'
import { createDiskRoom, type DiskRoom } from './disk-room.js'
import { dataFile, examineStoreFile } from './store-file.js'
import { probeStore } from './store-probe.js'
import { sizeOf, type Tables } from './tables.js'

/** One open LMDB environment. LMDB allows a process one for each path, so all backends of a path share it. */
export interface Environment extends Tables {
  readonly committer: Committer
  readonly disk: DiskRoom
  /** Clears the slots of readers that died, whose snapshots would keep old pages from being used again. */
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

/** What an empty store needs. */
const emptyBytes = 64 * 1024

const openShared = (path: string, maxBytes: number): Shared => {
  const disk = createDiskRoom(path)
  if (!existsSync(dataFile(path)) && disk.left() < emptyBytes) throw new Error('the disk is full')
  const options = {
    path,
    // A name with a dot in it is a directory all the same.
    noSubdir: false,
    permissionsMode: 0o600,
    maxDbs: 2,
    // Address space only: the bound is `maxBytes`. Consuming and collecting need room above it.
    mapSize: maxBytes * 2,
    // Each commit is one explicit batch: the implicit ones leave a rejected promise behind when a commit fails.
    eventTurnBatching: false,
    // LMDB as its authors made it: a commit is on the disk before the write lock is free. The other way has a second
    // lock, whose owner's death under `kill -9` can leave the environment of another process unusable (MDB_PANIC).
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
    readerCheck: () => void root.readerCheck(),
    release,
  }
  const entry: Shared = { environment, root, maxBytes, users: 0 }
  return entry
}

/** Opens the environment at `path`, or joins the one that this process has there. Throws what LMDB or the disk says. */
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
