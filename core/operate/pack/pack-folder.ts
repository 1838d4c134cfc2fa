import { createHash } from 'node:crypto'
import { mkdir, open, readdir, rename, rm, rmdir, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import type { PackFile } from './pack.js'

/** Bytes that are collected before they are written. */
const chunkBytes = 256 * 1024

/** The folder cannot take a pack. The message is for the operator. */
export class FolderRefused extends Error {
  override readonly name = 'FolderRefused'
}

/** One file of a pack while it is written. */
export interface PartWriter {
  /** Adds text. The promise is there only when the disk has to be waited for. */
  add(text: string): Promise<void> | undefined
  end(): Promise<PackFile>
}

/** A folder in which a pack is written. Its files are readable by their owner alone. */
export interface PackFolder extends AsyncDisposable {
  part(name: string): Promise<PartWriter>
  write(name: string, content: string | Uint8Array): Promise<PackFile>
  /** Writes the file without which the pack is none, in one step. What was written stays from then on. */
  seal(name: string, content: string): Promise<void>
}

const createWriter = (name: string, handle: FileHandle): PartWriter => {
  const digest = createHash('sha256')
  let [pending, length, bytes]: [Buffer[], number, number] = [[], 0, 0]
  const flush = async (): Promise<void> => {
    const chunk = Buffer.concat(pending)
    pending = []
    length = 0
    digest.update(chunk)
    bytes += chunk.byteLength
    await handle.writeFile(chunk)
  }
  return {
    add(text) {
      // A copy: the text may be a slice of a large one, which it would keep in memory.
      const copy = Buffer.from(text)
      pending.push(copy)
      length += copy.byteLength
      return length < chunkBytes ? undefined : flush()
    },
    async end() {
      await flush()
      await handle.sync()
      await handle.close()
      return { name, bytes, sha256: digest.digest('base64url') }
    },
  }
}

/**
 * Opens a folder for a pack: a new one, or an empty one. Unless the pack is sealed, disposing of it removes what was
 * written. Throws `FolderRefused`, or the system's error.
 */
export const openPackFolder = async (path: string): Promise<PackFolder> => {
  const isNew = (await mkdir(path, { recursive: true, mode: 0o700 })) !== undefined
  if ((await readdir(path)).length > 0) throw new FolderRefused(`${path}: the folder is not empty.`)
  const names: string[] = []
  let isSealed = false
  const create = async (name: string): Promise<FileHandle> => {
    const handle = await open(join(path, name), 'wx', 0o600)
    names.push(name)
    return handle
  }
  const part = async (name: string): Promise<PartWriter> => createWriter(name, await create(name))
  const write = async (name: string, content: string | Uint8Array): Promise<PackFile> => {
    const handle = await create(name)
    await handle.writeFile(content)
    await handle.sync()
    await handle.close()
    const bytes = Buffer.from(content)
    return { name, bytes: bytes.byteLength, sha256: createHash('sha256').update(bytes).digest('base64url') }
  }
  return {
    part,
    write,
    async seal(name, content) {
      const draft = `${name}.part`
      await write(draft, content)
      await rename(join(path, draft), join(path, name))
      isSealed = true
    },
    async [Symbol.asyncDispose]() {
      if (isSealed) return
      for (const name of names) await rm(join(path, name), { force: true })
      // Another process may have put something there.
      if (isNew) await rmdir(path).catch(() => undefined)
    },
  }
}
