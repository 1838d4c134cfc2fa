import { changesOnly, eachAuditPage } from '../administration/audit.js'
import { isObject, type JsonObject, type JsonValue } from '../json.js'
import { parseAuditLine, wholePart } from '../observe/audit-verify.js'
import { createDirectReader } from '../observe/audit-search/direct-reader.js'
import { matches, type AuditFilter } from '../observe/audit-search/terms.js'
import { readLines } from '../operate/json-records.js'
import { explainRecords, findLogs } from './audit.js'
import { heading, print, printError, printJson, show } from './output.js'
import { printList } from './table.js'

export interface AuditSearchOptions {
  readonly config?: string
  readonly event?: readonly string[]
  readonly client?: string
  readonly sub?: string
  readonly jti?: string
  readonly kid?: string
  readonly operator?: string
  readonly requestId?: string
  readonly object?: string
  /** Milliseconds since the epoch. */
  readonly since?: number
  readonly until?: number
  readonly limit?: number
  readonly json?: true
}

const filterOf = ({ event, client, requestId, ...options }: AuditSearchOptions): AuditFilter => {
  const { sub, jti, kid, operator, object, since, until } = options
  const members = { events: event, client_id: client, request_id: requestId }
  const all = { ...members, sub, jti, kid, operator, object, since, until }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}

/** The lines that a filter finds: of named files the oldest first, of the log of the configuration the newest first. */
const findLines = async function* (
  files: readonly string[],
  options: AuditSearchOptions,
  filter: AuditFilter,
): AsyncGenerator<JsonObject> {
  const [path] = files.length > 0 ? [] : await findLogs(options)
  if (path !== undefined && path !== '-') {
    yield* findInLog(path, filter)
    return
  }
  for (const file of path === '-' ? ['-'] : files)
    for await (const text of readLines(file)) {
      const line = parseAuditLine(wholePart(text))
      if (line !== undefined && matches(filter, line)) yield line
    }
}

/** Searches the log at `path` with the files beside it that it had before. */
const findInLog = async function* (path: string, filter: AuditFilter): AsyncGenerator<JsonObject> {
  let isTold = false
  for await (const { lines, notSearched } of eachAuditPage(createDirectReader(path), filter)) {
    if (!isTold && notSearched.length > 0)
      printError(`not searched, because they are compressed: ${notSearched.join(', ')}. Name the files to read them.`)
    isTold = true
    yield* lines
  }
}

/** The newest lines that a filter finds, the newest first. */
const findNewest = async (
  files: readonly string[],
  options: AuditSearchOptions,
  { filter, limit }: { readonly filter: AuditFilter; readonly limit: number },
): Promise<readonly JsonObject[]> => {
  const isOldestFirst = files.length > 0 || options.config === undefined
  const found: JsonObject[] = []
  try {
    for await (const line of findLines(files, options, filter)) {
      found.push(line)
      if (!isOldestFirst && found.length === limit) break
      if (found.length >= 2 * limit) found.splice(0, found.length - limit)
    }
  } catch (error) {
    return explainRecords(error)
  }
  return isOldestFirst ? found.slice(-limit).toReversed() : found
}

const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

/** Returns the operator or person that a line names. */
const describeBy = ({ by, sub }: JsonObject): string => {
  if (!isObject(by)) return text(sub)
  if (typeof by['operator'] === 'string') return by['operator']
  const user = text(by['sudo_user']) || text(by['os_user'])
  return user === '' ? text(by['address']) || text(by['via']) : `${user}@${text(by['host'])}`
}

const actionOf = ({ event, action }: JsonObject): string => text(action) || text(event)

/** The members that identify what a line is about, as far as it has them. */
const aboutMembers = ['client_id', 'username', 'principal_id', 'kid', 'slot', 'credential', 'sid', 'grant_id', 'jti']

const describeAbout = (line: JsonObject): string =>
  aboutMembers.flatMap((name) => (typeof line[name] === 'string' ? [`${name} ${line[name]}`] : [])).join(', ')

/** Implements `signet audit find`. */
export const printAuditLines = async (files: readonly string[], options: AuditSearchOptions): Promise<void> => {
  const lines = await findNewest(files, options, { filter: filterOf(options), limit: options.limit ?? 50 })
  if (options.json) return printJson(lines)
  printList(
    'lines',
    ['TIME', 'EVENT', 'WHO', 'ABOUT', 'REASON', 'REQUEST ID'],
    lines.map((line) => [
      ...[text(line['time']), actionOf(line), describeBy(line), describeAbout(line)],
      ...[text(line['reason']) || text(line['error']), text(line['request_id'])],
    ]),
  )
}

/** Implements `signet audit changes`. */
export const printChanges = async (files: readonly string[], options: AuditSearchOptions): Promise<void> => {
  const lines = await findNewest(files, options, {
    filter: changesOnly(filterOf(options)),
    limit: options.limit ?? 1000,
  })
  if (options.json) return printJson(lines)
  printList(
    'changes',
    ['TIME', 'WHAT', 'ABOUT', 'WHO', 'PROOF', 'REQUEST ID'],
    lines.map((line) => [
      ...[text(line['time']), actionOf(line), describeAbout(line), describeBy(line), proofOf(line)],
      text(line['request_id']),
    ]),
  )
}

const proofOf = ({ by }: JsonObject): string => (isObject(by) ? text(by['proof']) || text(by['via']) : '')

const shown = (value: JsonValue | undefined): string => (value === undefined ? '(absent)' : JSON.stringify(value))

const printDifference = ({ before, after }: JsonObject): void => {
  const [old, now] = [isObject(before) ? before : {}, isObject(after) ? after : {}]
  for (const name of new Set([...Object.keys(old), ...Object.keys(now)]))
    print(`  ${show(name)}: ${show(shown(old[name]))} → ${show(shown(now[name]))}`)
}

/** Implements `signet audit who`: each change of one object, the newest first. */
export const printWho = async (files: readonly string[], options: AuditSearchOptions): Promise<void> => {
  const lines = await findNewest(files, options, {
    filter: changesOnly(filterOf(options)),
    limit: options.limit ?? 1000,
  })
  if (options.json) return printJson(lines)
  if (lines.length === 0) print('No changes.')
  for (const line of lines) {
    print(heading(show(`${text(line['time'])}  ${actionOf(line)}`)))
    const details = {
      by: describeBy(line),
      proof: proofOf(line),
      credential: isObject(line['by']) ? text(line['by']['credential']) : '',
      request: text(line['request_id']),
      approval: line['approval'] === undefined ? '' : shown(line['approval']),
    }
    for (const [name, value] of Object.entries(details)) if (value !== '') print(`  ${name}: ${show(value)}`)
    printDifference(line)
  }
}

/** Events whose signatures reach a client. */
const signedEvents = [
  'token.signed',
  'userinfo.released',
  'introspection.signed',
  'authorization.signed',
  'logout.signed',
]

interface AlgorithmUse {
  readonly client_id: string
  readonly alg: string
  readonly typ: string
  count: number
  readonly last: string
}

/** Implements `signet audit algorithms`: which client still gets which algorithm. */
export const printAlgorithms = async (files: readonly string[], options: AuditSearchOptions): Promise<void> => {
  const uses = new Map<string, AlgorithmUse>()
  const add = (line: JsonObject): void => {
    const { client_id, signatures, time } = line
    if (typeof client_id !== 'string' || !Array.isArray(signatures)) return
    for (const one of signatures as readonly JsonValue[]) {
      if (!isObject(one)) continue
      const [alg, typ] = [text(one['alg']), text(one['typ'])]
      const key = JSON.stringify([client_id, alg, typ])
      const known = uses.get(key)
      if (known !== undefined) known.count++
      else uses.set(key, { client_id, alg, typ, count: 1, last: text(time) })
    }
  }
  const filter = { ...filterOf(options), events: signedEvents }
  try {
    for await (const line of findLines(files, options, filter)) add(line)
  } catch (error) {
    explainRecords(error)
  }
  const rows = [...uses.values()].toSorted((one, other) => (one.client_id < other.client_id ? -1 : 1))
  if (options.json) return printJson(rows)
  printList(
    'signatures',
    ['CLIENT_ID', 'ALG', 'TYP', 'COUNT', 'LAST'],
    rows.map(({ client_id, alg, typ, count, last }) => [client_id, alg, typ, String(count), last]),
  )
}
