import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { JsonObject } from '../json.js'

/** Most characters of one record. */
const maxRecord = 4 * 1024 * 1024

/** A file of records with an invalid format. */
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
  // The stream opens the file by itself, and nothing would handle its error before the first read.
  const bytes = createReadStream(file, { highWaterMark: 256 * 1024 })
  // A file error surfaces at the end of the pipeline.
  const content = isPacked ? pipeline(bytes, createGunzip(), () => undefined) : bytes
  return content.setEncoding('utf8') as AsyncIterable<string>
}

/**
 * The lines of a file, plain or gzip, without line feeds, including an unterminated last one. `-` is standard input.
 * Throws `RecordsUnreadable`, or the system's error when the file does not exist.
 */
export const readLines = async function* (file: string): AsyncGenerator<string> {
  try {
    yield* splitLines(
      file === '-' ? (process.stdin.setEncoding('utf8') as AsyncIterable<string>) : await readText(file),
    )
  } catch (error) {
    throw explain(file, error)
  }
}

/** Splits at line feeds. Throws `RecordsUnreadable` for a line that is longer than any record. */
export const splitLines = async function* (source: AsyncIterable<string>): AsyncGenerator<string> {
  let rest = ''
  for await (const text of source) {
    const lines = (rest + text).split('\n')
    rest = lines.pop() ?? ''
    yield* lines
    if (rest.length > maxRecord) throw new RecordsUnreadable('has a line of more than 4 MiB')
  }
  if (rest !== '') yield rest
}

/**
 * The objects of a JSON file of any size, one by one: members of a list, of a list within an object
 * (`{"Records":[…]}`, `{"Events":[…]}`, `{"events":[…]}`), or in sequence as in JSON lines. With `only`, which matches the
 * name of a list with its colon, nothing after that list is read. Gzip is unpacked. Throws `RecordsUnreadable`, or the
 * system's error when the file does not exist.
 */
export const readJsonRecords = async function* (file: string, only?: RegExp): AsyncGenerator<JsonObject> {
  const splitter = new RecordSplitter(only)
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
 * The objects of a file of JSON lines, plain or gzip. Lines that are not objects, as left by a process killed while
 * writing, are skipped. Throws `RecordsUnreadable`, or the system's error when the file does not exist.
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

const lists = /"(?:Records|Events|events)"\s*:\s*$/

/** Finds the boundaries of objects without parsing them, because files are larger than memory. */
class RecordSplitter {
  /** Open brackets outside the record. */
  #outer = 0
  #depth = 0
  #record = ''
  #inString = false
  #escaped = false
  /** Open brackets around the members of the only list. */
  #within = Infinity
  #isOver = false
  readonly #only: RegExp | undefined

  constructor(only?: RegExp) {
    this.#only = only
  }

  get isComplete(): boolean {
    return this.#isOver || (this.#depth === 0 && this.#outer === 0 && !this.#inString)
  }

  *add(text: string): Generator<string> {
    if (this.#isOver) return
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
        } else if (isList && this.#depth === 1 && (this.#only ?? lists).test(this.#record + text.slice(start, index))) {
          // The supposed record turned out to contain the records.
          this.#outer += 2
          if (this.#only !== undefined) this.#within = this.#outer
          this.#depth = 0
          this.#record = ''
          start = -1
          continue
        }
        this.#depth++
      } else if (code === 0x7d || code === 0x5d) {
        if (this.#depth === 0) {
          this.#outer--
          if (this.#outer < this.#within && this.#within !== Infinity) {
            this.#isOver = true
            return
          }
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
