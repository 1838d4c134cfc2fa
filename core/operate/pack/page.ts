import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Eta } from 'eta'
import { isObject, type JsonObject, type JsonValue } from '../../json.js'
import { packageRoot } from '../../package-root.js'
import { escapeUnseen } from '../../plain-text.js'
import type { SignatureCount } from '../count-signatures.js'
import { parseAuditLine } from '../../observe/audit-verify.js'
import { readLines } from '../json-records.js'
import type { ExtractFaults } from './audit-extract.js'
import type { KeyLogEntry } from '../../keys/log/entry.js'
import type { KeyLogPart } from './key-log-part.js'
import type { Inventory } from './key-inventory.js'
import type { PackReconciliation } from './backend-logs.js'
import type { OperatorSeen } from './operators.js'
import { partNames, type ChainProof, type Manifest } from './pack.js'

/** Rows of one table. The files have all. */
const maxRows = 200

interface Rows<T> {
  readonly rows: readonly T[]
  /** The number of rows that only the file has. */
  readonly more: number
}

const firstRows = <T>(all: readonly T[]): Rows<T> => ({
  rows: all.slice(0, maxRows),
  more: Math.max(0, all.length - maxRows),
})

const say = (value: unknown): string =>
  escapeUnseen(typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value))

/** Who acted: `root on host`, for example. */
const sayWho = (by: JsonValue | undefined): string => {
  if (!isObject(by)) return ''
  const { os_user: user, sudo_user: sudo, host, address, via, ...others } = by
  const name = [user, sudo === undefined ? undefined : `(${say(sudo)})`].filter((one) => one !== undefined).map(say)
  const place = [host, address].filter((one) => one !== undefined).map(say)
  const rest = Object.entries(others).map(([key, value]) => `${say(key)} ${say(value)}`)
  return [
    name.join(' '),
    place.length > 0 ? `on ${place.join(' from ')}` : '',
    via === undefined ? '' : `by ${say(via)}`,
    ...rest,
  ]
    .filter((part) => part !== '')
    .join(' ')
}

/** Members that every line has, or that are shown by themselves. */
const shownElsewhere = new Set([
  'v',
  'writer',
  'seq',
  'prev',
  'pid',
  'issuer',
  'time',
  'event',
  'by',
  'action',
  'stream',
])

const sayDetails = (line: JsonObject): string =>
  Object.entries(line)
    .filter(([name]) => !shownElsewhere.has(name))
    .map(([name, value]) => `${say(name)}: ${say(value)}`)
    .join(' · ')

const sayChange = (line: JsonObject) => ({
  time: say(line['time']),
  event: say(line['action'] ?? line['event']),
  isBegun: line['event'] === 'administration.begun',
  who: sayWho(line['by']),
  details: sayDetails(line),
})

const readChanges = async (file: string): Promise<Rows<ReturnType<typeof sayChange>>> => {
  const rows = []
  let more = 0
  for await (const text of readLines(file)) {
    const line = parseAuditLine(text)
    if (line === undefined) continue
    if (rows.length < maxRows) rows.push(sayChange(line))
    else more++
  }
  return { rows, more }
}

const readSbom = async (folder: string, { files }: Pick<Manifest, 'files'>) => {
  if (!files.some(({ name }) => name === partNames.sbom)) return undefined
  const bom = JSON.parse(await readFile(join(folder, partNames.sbom), 'utf8')) as {
    readonly components?: readonly { readonly name?: unknown; readonly version?: unknown }[]
  }
  return firstRows((bom.components ?? []).map(({ name, version }) => ({ name: say(name), version: say(version) })))
}

const readKeyLog = async (folder: string, { files }: Pick<Manifest, 'files'>) => {
  if (!files.some(({ name }) => name === partNames.keyLog)) return undefined
  const { begins, ends, entries } = JSON.parse(await readFile(join(folder, partNames.keyLog), 'utf8')) as KeyLogPart
  const shown = entries.map(({ index, entry }) => ({ index, ...(JSON.parse(entry) as Partial<KeyLogEntry>) }))
  return { begins: begins.size, ends: ends.size, ...firstRows(shown) }
}

/** The part of the manifest that does not depend on the page. */
export type PageHead = Manifest

let template: Promise<string> | undefined

const readTemplate = (): Promise<string> =>
  (template ??= readFile(join(packageRoot, 'core', 'operate', 'views', 'audit-pack.eta'), 'utf8'))

/**
 * The page of a pack, from its other files alone, so that whoever has the same version gets the same page. `head` has
 * the files without the page.
 */
export const renderPage = async (folder: string, head: PageHead, extract: ExtractFaults): Promise<string> => {
  const read = async <T>(name: string): Promise<T> => JSON.parse(await readFile(join(folder, name), 'utf8')) as T
  const { signers, keys } = await read<Inventory>(partNames.keys)
  const signatures = await read<readonly SignatureCount[]>(partNames.signatures)
  const operators = await read<readonly OperatorSeen[]>(partNames.operators)
  const data = {
    ...{ head, say, extract },
    chain: await read<ChainProof>(partNames.chain),
    writers: firstRows(extract.found.writers),
    keys: firstRows(keys),
    signers,
    answered: keys.filter(({ backend }) => backend.status === 'answered').length,
    silent: keys.filter(({ backend }) => backend.status === 'absent' || backend.status === 'refused').length,
    signatures: firstRows(signatures),
    signed: signatures.reduce((sum, { issued, probes }) => sum + issued + probes, 0),
    operators: firstRows(operators.map(({ by, ...one }) => ({ ...one, who: sayWho(by) }))),
    changes: await readChanges(join(folder, partNames.changes)),
    reconciliation: await read<PackReconciliation>(partNames.reconciliation),
    keyLog: await readKeyLog(folder, head),
    sbom: await readSbom(folder, head),
    madeBy: sayWho(head.made_by),
  }
  return new Eta({ autoEscape: true }).renderString(await readTemplate(), data)
}
