import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { createHash } from 'node:crypto'
import { parseAllDocuments, stringify } from 'yaml'
import type { DesiredObject } from '../administration/desired.js'
import type { JsonValue } from '../json.js'
import { CommandFailed } from './failure.js'

/** The most bytes of one file, and the most files. */
const maxBytes = 1024 * 1024
const maxFiles = 100_000

const isDescription = (name: string): boolean => /\.(?:ya?ml|json)$/i.test(name)

const readDocuments = async (path: string, name: string): Promise<readonly JsonValue[]> => {
  const text = await readFile(path, 'utf8')
  if (Buffer.byteLength(text) > maxBytes) throw new CommandFailed(`${name} has more than 1 MiB`)
  const documents = parseAllDocuments(text, { prettyErrors: false, uniqueKeys: true })
  if (!Array.isArray(documents)) return []
  const faulty = documents.find(({ errors }) => errors.length > 0)
  if (faulty !== undefined) throw new CommandFailed(`${name} is not YAML`)
  try {
    // Aliases could make a small file a huge object.
    return documents.map((document) => document.toJS({ maxAliasCount: 0 }) as JsonValue)
  } catch {
    throw new CommandFailed(`${name} has aliases, which are not read`)
  }
}

/**
 * Reads the objects of all YAML and JSON files in a folder and below, by the place of each: the name of its file, and
 * its number where the file has several. Throws `CommandFailed`.
 */
export const readDesiredFiles = async (folder: string): Promise<ReadonlyMap<string, JsonValue>> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => {
    throw new CommandFailed('There is no such folder.')
  })
  const paths = entries
    .filter((entry) => entry.isFile() && isDescription(entry.name))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted()
  if (paths.length > maxFiles) throw new CommandFailed('The folder has too many files.')
  const found = new Map<string, JsonValue>()
  for (const path of paths) {
    const name = relative(folder, path)
    const documents = await readDocuments(path, name)
    const values = documents.flatMap((document) => (Array.isArray(document) ? (document as JsonValue[]) : [document]))
    for (const [index, value] of values.entries())
      if (value !== null) found.set(values.length === 1 ? name : `${name} (${String(index + 1)})`, value)
  }
  return found
}

/** A name of a file for any id: what is long or could be another on a file system that ignores case has a digest. */
const fileNameOf = (id: string): string => {
  const safe = encodeURIComponent(id).replaceAll('*', '%2A')
  const isPlain = safe.length <= 80 && safe === safe.toLowerCase() && !safe.startsWith('.')
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 12)
  return `${isPlain ? safe : `${safe.slice(0, 60).replace(/^\.+/, '')}-${digest}`}.yaml`
}

const documentOf = ({ kind, id, settings }: DesiredObject): object =>
  kind === 'client' ? { kind, client_id: id, ...settings } : { kind, name: id, ...settings }

/** Writes a file for each object into a new or empty folder. Returns their names. Throws `CommandFailed`. */
export const writeDesiredFiles = async (
  folder: string,
  objects: readonly DesiredObject[],
): Promise<readonly string[]> => {
  const before = await readdir(folder).catch(() => [])
  if (before.length > 0) throw new CommandFailed('The folder is not empty.')
  const names: string[] = []
  for (const object of objects) {
    const inner = `${object.kind}s`
    await mkdir(join(folder, inner), { recursive: true })
    const name = join(inner, fileNameOf(object.id))
    await writeFile(join(folder, name), stringify(documentOf(object), { lineWidth: 0 }), { flag: 'wx' })
    names.push(name)
  }
  return names
}
