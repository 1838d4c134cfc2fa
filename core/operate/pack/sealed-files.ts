import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open, readdir, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import { splitLines } from '../json-records.js'
import type { PackFile } from './pack.js'

/** A file of a pack from elsewhere cannot be read. The message is constant. */
export class FileUnfit extends Error {
  override readonly name = 'FileUnfit'
}

/** The names in the folder. */
export const listFolder = (folder: string): Promise<readonly string[]> => readdir(folder)

/**
 * Runs `work` with a file of the folder, which is opened only if it is a file: no link is followed, and no pipe waited
 * for. Throws `FileUnfit`, or the system's error; `ENOENT` when it is missing.
 */
const withFile = async <T>(
  folder: string,
  name: string,
  work: (handle: FileHandle, bytes: number) => Promise<T>,
): Promise<T> => {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  let handle: FileHandle
  try {
    handle = await open(join(folder, name), flags)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ELOOP') throw new FileUnfit('is a link')
    throw error
  }
  try {
    const found = await handle.stat()
    if (!found.isFile()) throw new FileUnfit('is not a file')
    return await work(handle, found.size)
  } finally {
    await handle.close()
  }
}

/** The whole file. Throws `FileUnfit` if it is larger than `maxBytes`. */
export const readWhole = (folder: string, name: string, maxBytes: number): Promise<Buffer> =>
  withFile(folder, name, async (handle, bytes) => {
    if (bytes > maxBytes) throw new FileUnfit('is too large')
    const buffer = Buffer.alloc(bytes)
    const { bytesRead } = await handle.read(buffer, 0, bytes, 0)
    return buffer.subarray(0, bytesRead)
  })

/** Reads the lines of a file as they are, never unpacked. */
export const withLines = <T>(
  folder: string,
  name: string,
  work: (lines: AsyncGenerator<string>) => Promise<T>,
): Promise<T> =>
  withFile(folder, name, async (handle) => {
    const lines = splitLines(handle.createReadStream({ encoding: 'utf8', autoClose: false, start: 0 }))
    try {
      return await work(lines)
    } finally {
      // Ends the stream before the file is closed.
      await lines.return(undefined)
    }
  })

/** Returns the fault of a file of the manifest, if any. A file of another size is not read. */
export const findChange = (folder: string, { name, bytes, sha256 }: PackFile): Promise<string | undefined> =>
  withFile(folder, name, async (handle, size) => {
    if (size !== bytes) return `was changed: it has ${String(size)} bytes, and should have ${String(bytes)}`
    const digest = createHash('sha256')
    for await (const chunk of handle.createReadStream({ autoClose: false, start: 0 })) digest.update(chunk as Buffer)
    return digest.digest('base64url') === sha256 ? undefined : 'was changed: its digest is another one'
  })
