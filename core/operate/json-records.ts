import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { JsonObject } from '../json.js'

/** Characters of one record. */
const maxRecord = 4 * 1024 * 1024

/** A file of records that is not what it should be. */
export class RecordsUnreadable extends Error {
  override readonly name = 'RecordsUnreadable'
}

/** The first two bytes of gzip (RFC 1952 §2.3.1). */
const isGzip = async (file: string): Promise<boolean> => {
  await using handle = await open(file)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0)
  return bytesRead === 2 && buffer[0] === 0x1f && buffer[1] === 0x8b
}

const readText = async (file: string): Promise<AsyncIterable<string>> => {
  const isPacked = await isGzip(file)
  // The stream opens the file by itself: before it is read from, nobody would take its error.
  const bytes = createReadStream(file, { highWaterMark: 256 * 1024 })
  // An error of the file comes out of the end of the pipeline.
  const content = isPacked ? pipeline(bytes, createGunzip(), () => undefined) : bytes
  return content.setEncoding('utf8') as AsyncIterable<string>
}

/**
 * The lines of a file, gzip or not, without line feeds; what comes after the last one too. `-` is standard input. Throws
 * `RecordsUnreadable`, and the system's error when there is no such file.
 */
export const readLines = async function* (file: string): AsyncGenerator<string> {
  let rest = ''
  try {
    const source = file === '-' ? (process.stdin.setEncoding('utf8') as AsyncIterable<string>) : await readText(file)
    for await (const text of source) {
      const lines = (rest + text).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  } catch (error) {
    throw explain(file, error)
  }
  if (rest !== '') yield rest
}

/**
 * The objects of a JSON file of any size, one by one: members of a list, of a list within an object (`{"Records":[…]}`,
 * `{"Events":[…]}`), or one after the other as in JSON lines. Gzip is unpacked. Throws `RecordsUnreadable`, and the
 * system's error when there is no such file.
 */
export const readJsonRecords = async function* (file: string): AsyncGenerator<JsonObject> {
  const splitter = new RecordSplitter()
  try {
    for await (const text of await readText(file)) {
      for (const record of splitter.add(text)) yield parseRecord(record)
    }
  } catch (error) {
    throw explain(file, error)
  }
  if (!splitter.isComplete) throw new RecordsUnreadable(`${file}: ends in the middle of a record`)
}

const parseRecord = (text: string): JsonObject => {
  try {
    return JSON.parse(text) as JsonObject
  } catch {
    throw new RecordsUnreadable('is not JSON')
  }
}

/**
 * The objects of a file of JSON lines, gzip or not. A line that is none is what a process left that was killed while it
 * wrote: it is passed over. Throws `RecordsUnreadable`, and the system's error when there is no such file.
 */
export const readJsonLines = async function* (file: string): AsyncGenerator<JsonObject> {
  for await (const line of readLines(file)) yield* parseLine(line)
}

const parseLine = (line: string): readonly JsonObject[] => {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? [value as JsonObject] : []
  } catch {
    return []
  }
}

const explain = (file: string, error: unknown): unknown => {
  if (error instanceof RecordsUnreadable) return new RecordsUnreadable(`${file}: ${error.message}`)
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return /^(?:Z|ERR)_/.test(code) ? new RecordsUnreadable(`${file}: is damaged (${code})`) : error
}

const lists = /"(?:Records|Events)"\s*:\s*$/

/** Finds where objects begin and end without parsing them: files are larger than memory. */
class RecordSplitter {
  /** Open brackets outside of the record. */
  #outer = 0
  #depth = 0
  #record = ''
  #inString = false
  #escaped = false

  get isComplete(): boolean {
    return this.#depth === 0 && this.#outer === 0 && !this.#inString
  }

  *add(text: string): Generator<string> {
    let start = this.#depth > 0 ? 0 : -1
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index)
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false
        else if (code === 0x5c) this.#escaped = true
        else if (code === 0x22) this.#inString = false
        else if (code === 0x0a) throw new RecordsUnreadable('is not JSON')
        continue
      }
      if (code === 0x22) this.#inString = true
      else if (code === 0x7b || code === 0x5b) {
        const isList = code === 0x5b
        if (this.#depth === 0) {
          if (isList) {
            this.#outer++
            continue
          }
          start = index
        } else if (isList && this.#depth === 1 && lists.test(this.#record + text.slice(start, index))) {
          // What was taken for a record holds the records.
          this.#outer += 2
          this.#depth = 0
          this.#record = ''
          start = -1
          continue
        }
        this.#depth++
      } else if (code === 0x7d || code === 0x5d) {
        if (this.#depth === 0) {
          this.#outer--
          if (this.#outer < 0) throw new RecordsUnreadable('is not JSON')
          continue
        }
        this.#depth--
        if (this.#depth > 0) continue
        yield this.#record + text.slice(start, index + 1)
        this.#record = ''
        start = -1
      }
    }
    if (start >= 0) this.#record += text.slice(start)
    if (this.#record.length > maxRecord) throw new RecordsUnreadable('has a record of more than 4 MiB')
  }
}
