import { open } from 'node:fs/promises'
import type { JsonObject } from '../json.js'

/** Lines of the audit log that name a person. */
export interface LinesAbout {
  readonly lines: readonly JsonObject[]
  /** False: older lines of the file were not read. */
  readonly complete: boolean
}

const chunkBytes = 1024 * 1024
const lineFeed = 0x0a

const parse = (line: Buffer): JsonObject | undefined => {
  try {
    return JSON.parse(line.toString('utf8')) as JsonObject
  } catch {
    // The last line may be half written.
    return undefined
  }
}

/** Yields the lines of a chunk that have one of these texts, from the end to the beginning. */
function* linesWith(chunk: Buffer, texts: readonly Buffer[]): Generator<Buffer> {
  let end = chunk.length
  while (end > 0) {
    const hit = Math.max(...texts.map((text) => chunk.lastIndexOf(text, end - 1)))
    if (hit < 0) return
    const begin = chunk.lastIndexOf(lineFeed, hit) + 1
    const stop = chunk.indexOf(lineFeed, hit)
    yield chunk.subarray(begin, stop === -1 ? chunk.length : stop)
    end = begin
  }
}

/**
 * Finds the lines of an audit log that name this subject or username, oldest first. It reads from the end of the file,
 * at most `maxBytes`, and returns at most `maxLines`. A file that does not exist has none.
 */
export const linesAbout = async (
  file: string,
  { sub, username }: { readonly sub: string; readonly username?: string | undefined },
  { maxBytes, maxLines }: { readonly maxBytes: number; readonly maxLines: number },
): Promise<LinesAbout> => {
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (handle === undefined) return { lines: [], complete: true }
  await using closing = handle
  const isAbout = (line: JsonObject): boolean =>
    line['sub'] === sub || (username !== undefined && line['username'] === username)
  const texts = [sub, ...(username === undefined ? [] : [username])].map((text) => Buffer.from(JSON.stringify(text)))
  const { size } = await closing.stat()
  const found: JsonObject[] = []
  const last = Math.max(0, size - maxBytes)
  let rest: Buffer = Buffer.alloc(0)
  for (let end = size; end > last;) {
    const begin = Math.max(last, end - chunkBytes)
    const { buffer } = await closing.read(Buffer.alloc(end - begin), 0, end - begin, begin)
    const chunk = Buffer.concat([buffer, rest])
    // The first line of a chunk may begin in the chunk before it.
    const first = begin === 0 ? 0 : chunk.indexOf(lineFeed) + 1
    for (const bytes of linesWith(chunk.subarray(first), texts)) {
      const line = parse(bytes)
      if (line === undefined || !isAbout(line)) continue
      if (found.length === maxLines) return { lines: found.reverse(), complete: false }
      found.push(line)
    }
    rest = chunk.subarray(0, first)
    end = begin
  }
  return { lines: found.reverse(), complete: last === 0 }
}
