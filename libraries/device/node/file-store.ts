import { open, readFile, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { checkMembers, kinds } from '../../wire/options.js'
import { DeviceError } from '../errors.js'
import type { DeviceStore } from '../store.js'
import { createFileLock } from './file-lock.js'

/**
 * Stores the record in a file of mode 0600, whose directory must exist on a local disk. It stores no keys, so the
 * device needs one such as `fileKey`. `path.lock` and `path.new` exist beside it for moments. Throws a `TypeError`
 * without a path.
 */
export const fileStore = (path: string): DeviceStore => {
  checkMembers('fileStore', { path }, { path: kinds.name }, ['path'])
  return {
    keepsKeys: false,
    async read() {
      const text = await readFile(path, 'utf8').catch(unlessAbsent)
      if (text === undefined) return undefined
      try {
        return JSON.parse(text) as unknown
      } catch (cause) {
        throw new DeviceError('StoreCorrupted', `${path} is not the whole record of a device.`, { cause })
      }
    },
    async write(record) {
      const next = `${path}.new`
      await rm(next, { force: true })
      {
        await using file = await open(next, 'wx', 0o600)
        await file.writeFile(JSON.stringify(record))
        await file.sync()
      }
      await rename(next, path)
      await syncDirectory(dirname(path))
    },
    async remove() {
      await rm(path, { force: true })
      await syncDirectory(dirname(path))
    },
    exclusive: createFileLock(`${path}.lock`),
  }
}

const unlessAbsent = (error: unknown): undefined => {
  if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
}

/** Makes a rename survive a loss of power. */
const syncDirectory = async (path: string): Promise<void> => {
  if (process.platform === 'win32') return
  await using directory = await open(path, 'r')
  await directory.sync()
}
