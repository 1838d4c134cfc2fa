import { createReadStream } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { pipeline } from 'node:stream'
import type { ImportedAccount, UnreadableEntry } from '../../administration/import/imported-account.js'
import type { JsonObject } from '../../json.js'
import { readJsonRecords, readLines } from '../../operate/json-records.js'
import { CommandFailed } from '../failure.js'
import { EntryFault } from './fields.js'
import { importFormats, type ImportFormat } from './formats.js'
import { fromRow } from './read-csv.js'
import { fromFirebase, fromKeycloak, fromLine, readFirebaseProject } from './read-json.js'
import { fromLdif, ldifEntries } from './read-ldif.js'

type Entry = ImportedAccount | UnreadableEntry
type Unplaced = Omit<ImportedAccount, 'place'>

const headBytes = 256 * 1024

const jsonFormat = async (file: string): Promise<ImportFormat> => {
  await using handle = await open(file)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(headBytes), 0, headBytes, 0)
  return buffer.subarray(0, bytesRead).includes('"localId"') ? 'firebase' : 'keycloak'
}

/** Detects the format of a file by its name, and of JSON by its members. Throws `CommandFailed`. */
export const detectFormat = async (file: string): Promise<ImportFormat> => {
  const extension = extname(file.replace(/\.gz$/, '')).toLowerCase()
  if (extension === '.csv') return 'csv'
  if (extension === '.ldif') return 'ldif'
  if (extension === '.jsonl' || extension === '.ndjson') return 'jsonl'
  if (extension === '.json') return jsonFormat(file)
  throw new CommandFailed(`The name of the file does not say its format. Give --format: ${importFormats.join(', ')}.`)
}

/** An entry that cannot be read is refused, and the others are not held up. */
const placed = (place: string, read: () => Unplaced): Entry => {
  try {
    return { place, ...read() }
  } catch (error) {
    if (error instanceof EntryFault) return { place, reason: error.message }
    throw error
  }
}

async function* fromRecords(file: string, read: (record: JsonObject) => Unplaced): AsyncGenerator<Entry> {
  let number = 0
  for await (const record of readJsonRecords(file, /"users"\s*:\s*$/)) {
    number++
    yield placed(`record ${String(number)}`, () => read(record))
  }
}

async function* fromLines(file: string): AsyncGenerator<Entry> {
  let number = 0
  for await (const line of readLines(file)) {
    number++
    if (line.trim() === '') continue
    yield placed(`line ${String(number)}`, () => {
      let parsed: unknown
      try {
        parsed = JSON.parse(line)
      } catch {
        throw new EntryFault('The line is not JSON.')
      }
      if (typeof parsed !== 'object' || parsed === null) throw new EntryFault('The line is not a JSON object.')
      return fromLine(parsed as JsonObject)
    })
  }
}

async function* fromCsv(file: string): AsyncGenerator<Entry> {
  const { CsvError, parse } = await import('csv-parse')
  const rows = pipeline(
    createReadStream(file),
    parse({ columns: true, bom: true, trim: true, info: true, skip_empty_lines: true, relax_column_count_less: true }),
    // An error of the file comes out at the end of the pipeline.
    () => undefined,
  )
  try {
    for await (const { record, info } of rows as AsyncIterable<{
      readonly record: Readonly<Record<string, string>>
      readonly info: { readonly lines: number }
    }>)
      yield placed(`line ${String(info.lines)}`, () => fromRow(record))
  } catch (error) {
    if (error instanceof CsvError) throw new CommandFailed(`The file is not CSV: ${error.message}`)
    throw error
  }
}

async function* fromDirectory(file: string): AsyncGenerator<Entry> {
  for await (const entry of ldifEntries(readLines(file))) {
    const account = fromLdif(entry)
    if (account !== undefined) yield { place: `line ${String(entry.line)}`, ...account }
  }
}

const readProject = async (file: string | undefined) => {
  if (file === undefined) return undefined
  const project = readFirebaseProject(await readFile(file, 'utf8'))
  if (project === undefined) throw new CommandFailed('The file of --firebase-hash-config has no hash_config.')
  return project
}

/** Reads the accounts of an export, one by one. Throws `CommandFailed`, `RecordsUnreadable` and the system's errors. */
export const readAccounts = async (
  file: string,
  format: ImportFormat,
  firebaseHashConfig: string | undefined,
): Promise<AsyncIterable<Entry>> => {
  const project = await readProject(firebaseHashConfig)
  switch (format) {
    case 'csv':
      return fromCsv(file)
    case 'jsonl':
      return fromLines(file)
    case 'ldif':
      return fromDirectory(file)
    case 'keycloak':
      return fromRecords(file, fromKeycloak)
    case 'firebase':
      return fromRecords(file, (user) => fromFirebase(user, project))
  }
}
