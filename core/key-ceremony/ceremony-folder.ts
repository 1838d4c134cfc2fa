import { randomBytes } from 'node:crypto'
import { mkdir, open, readdir, rmdir, unlink, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'

/** Bytes that a transcript never needs, whatever its backend says. */
const reservedBytes = 256 * 1024

/** A folder that cannot take the transcript, in words. */
export class FolderRefused extends Error {
  override readonly name = 'FolderRefused'
}

/** The folder of a transcript, with room on its disk until it is closed. */
export interface CeremonyFolder {
  /** Writes files that survive a loss of power. Throws the system's error. */
  write(files: Readonly<Record<string, string>>): Promise<void>
  /** Gives the room back, and removes the folder if nothing was written into it. */
  close(): Promise<void>
}

const words: Readonly<Record<string, string>> = {
  ENOENT: 'its parent does not exist',
  ENOTDIR: 'it is not a folder, or its parent is none',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the quota of the disk is used up',
}

const refusal = (cause: unknown): FolderRefused => {
  const { code = 'unknown error' } = cause as NodeJS.ErrnoException
  return new FolderRefused(`no transcript can be written there: ${words[code] ?? code}`, { cause })
}

/** A file without a name keeps the room, also if this process is killed: then its room is free again. */
const reserve = async (path: string): Promise<FileHandle> => {
  const name = join(path, '.reserved')
  const file = await open(name, 'wx', 0o600)
  try {
    // Random bytes, because a file system may compress others to nothing.
    await file.writeFile(randomBytes(reservedBytes))
    await file.sync()
    return file
  } catch (error) {
    await file.close()
    throw error
  } finally {
    await unlink(name)
  }
}

const makeFolder = async (path: string): Promise<void> => {
  try {
    await mkdir(path, { mode: 0o700 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    // An interrupted ceremony leaves an empty folder.
    if ((await readdir(path)).length > 0) throw new FolderRefused('exists already and is not empty')
  }
}

const syncFolder = async (path: string): Promise<void> => {
  await using folder = await open(path, 'r')
  await folder.sync()
}

/** Makes the folder, unless it is there and empty, and reserves room for a transcript. Throws `FolderRefused`. */
export const openFolder = async (path: string): Promise<CeremonyFolder> => {
  let room: FileHandle | undefined
  try {
    await makeFolder(path)
    room = await reserve(path)
  } catch (error) {
    if (error instanceof FolderRefused) throw error
    await rmdir(path).catch(() => undefined)
    throw refusal(error)
  }
  const free = async (): Promise<void> => {
    const held = room
    room = undefined
    await held?.close()
  }
  return {
    async write(files) {
      await free()
      for (const [name, content] of Object.entries(files)) {
        await using file = await open(join(path, name), 'wx', 0o600)
        await file.writeFile(content)
        await file.sync()
      }
      await syncFolder(path)
    },
    async close() {
      await free()
      // It is not empty once the transcript is in it.
      await rmdir(path).catch(() => undefined)
    },
  }
}
