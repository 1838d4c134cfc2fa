import { z } from 'zod'
import { findAuditLines, verifyAuditRange } from '../../administration/audit.js'
import { Problem, unlessRefused } from '../../admin-api/problem.js'
import type { JsonObject } from '../../json.js'
import type { Translator } from '../../interaction/languages/translator.js'
import type { AuditPosition } from '../../observe/audit-search/search.js'
import { changeEvents, objectTypes, type AuditFilter } from '../../observe/audit-search/terms.js'
import { pathTo, type Cell } from '../cells.js'
import { toCsv } from '../csv.js'
import { definePage } from '../console-page.js'
import { pagerOf } from '../pager.js'

const value = z.string().max(512).optional()

const filters = {
  ...{
    event: z
      .string()
      .max(512)
      .regex(/^[a-z_.*,]+$/)
      .optional(),
    object: value,
    operator: value,
  },
  ...{ client_id: value, sub: value, jti: value, kid: value, request_id: value },
  ...{ since: z.string().max(40).optional(), until: z.string().max(40).optional() },
} as const

const names = Object.keys(filters) as (keyof typeof filters)[]

type Filters = { readonly [Name in keyof typeof filters]?: string | undefined }

const timeOf = (text: string): number => {
  const written = text.trim().replace(' ', 'T')
  const time = Date.parse(/T\d\d:\d\d(?::\d\d)?$/.test(written) ? `${written}Z` : written)
  if (Number.isNaN(time)) throw new Problem(400, 'invalid_time', 'A time is not one.')
  return time
}

/** `changes` stands for every event that changes something. */
const filterOf = ({ event, object, since, until, ...members }: Filters): AuditFilter => {
  if (object !== undefined && !objectTypes.some((type) => object.startsWith(`${type}:`)))
    throw new Problem(400, 'invalid_object', 'An object is a type and an id, such as client:shop.')
  const given = Object.fromEntries(Object.entries(members).filter(([, text]) => text !== undefined))
  return {
    ...given,
    ...(object !== undefined && { object }),
    ...(event !== undefined && { events: event === 'changes' ? changeEvents : event.split(',') }),
    ...(since !== undefined && { since: timeOf(since) }),
    ...(until !== undefined && { until: timeOf(until) }),
  }
}

const text = (member: JsonObject[string]): string | undefined =>
  member === undefined || member === null ? undefined : typeof member === 'string' ? member : JSON.stringify(member)

/** Members that have a column, or that every line has. */
const common: ReadonlySet<string> = new Set([
  ...[
    'event',
    'time',
    'v',
    'writer',
    'seq',
    'prev',
    'pid',
    'issuer',
    'by',
    'client_id',
    'sub',
    'username',
    'request_id',
  ],
])

const whoOf = (line: JsonObject): Cell => {
  const by = line['by'] as JsonObject | undefined
  const operator = by && (text(by['operator']) ?? text(by['os_user']))
  if (operator !== undefined) return { text: operator, small: text(by?.['proof']) ?? text(by?.['via']) }
  const sub = text(line['sub'])
  return sub === undefined ? { text: text(line['username']) ?? '–' } : { text: sub, href: pathTo('people', sub) }
}

const rowOf = (texts: Translator, line: JsonObject): readonly Cell[] => {
  const at = Date.parse(text(line['time']) ?? '')
  const client = text(line['client_id'])
  const rest = Object.entries(line).filter(([name]) => !common.has(name))
  return [
    {
      time: { iso: text(line['time']) ?? '', text: Number.isNaN(at) ? '–' : texts.time(Math.floor(at / 1000)) },
      small: text(line['time'])?.slice(11),
    },
    { text: text(line['event']) ?? '–', code: true, small: text(line['action']) ?? text(line['reason']) },
    whoOf(line),
    client === undefined ? { text: '–' } : { text: client, href: pathTo('clients', client) },
    {
      details: {
        title: texts.text('audit.details', { count: String(rest.length) }),
        pre: JSON.stringify(line, undefined, 2),
      },
    },
  ]
}

const fieldOf = (texts: Translator, name: keyof typeof filters, input: Filters) => ({
  ...{ name, label: texts.text(`audit.${name}`), value: input[name], isCode: true },
  ...((name === 'since' || name === 'until') && { placeholder: '2026-11-26 09:30' }),
})

const maxExported = 10_000
const inOnePage = 1000

const readAll = async (
  parts: Parameters<typeof findAuditLines>[0],
  filter: AuditFilter,
): Promise<readonly JsonObject[]> => {
  const all: JsonObject[] = []
  let from: AuditPosition | undefined
  do {
    const { lines, next } = unlessRefused(await findAuditLines(parts, { filter, limit: inOnePage, from }))
    all.push(...lines)
    from = next
  } while (from !== undefined && all.length < maxExported)
  return all.slice(0, maxExported)
}

const searchOf = (input: Filters): string => {
  const given = names.flatMap((name) => (input[name] === undefined ? [] : [[name, input[name]]]))
  return new URLSearchParams(Object.fromEntries(given) as Record<string, string>).toString()
}

export const auditPages = [
  definePage(
    {
      ...{ path: '/audit', permission: 'audit.read', section: 'audit' },
      input: z.strictObject({ ...filters, cursor: z.string().max(4096).optional() }),
    },
    async ({ input: { cursor, ...input }, parts, texts }) => {
      const filter = filterOf(input)
      const name = `audit page ${JSON.stringify(filter)}`
      const from =
        cursor === undefined ? undefined : (JSON.parse(await parts.cursors.read(name, cursor)) as AuditPosition)
      const { lines, next } = unlessRefused(await findAuditLines(parts, { filter, limit: 50, from }))
      const nextCursor = next === undefined ? undefined : await parts.cursors.write(name, JSON.stringify(next))
      const search = searchOf(input)
      return {
        view: 'list',
        title: texts.text('nav.audit'),
        data: {
          actions: [
            { href: `/audit/export?format=jsonl&${search}`, title: texts.text('audit.jsonl') },
            { href: `/audit/export?format=csv&${search}`, title: texts.text('audit.csv') },
            { href: '/audit/verification', title: texts.text('audit.verify') },
          ],
          filters: {
            action: '/audit',
            isOpen: names.some((field) => field !== 'event' && input[field] !== undefined),
            fields: names.map((field) => fieldOf(texts, field, input)),
          },
          tabs: [
            { href: '/audit', title: texts.text('audit.all'), isHere: input.event !== 'changes' },
            { href: '/audit?event=changes', title: texts.text('audit.changes'), isHere: input.event === 'changes' },
          ],
          empty: texts.text(next === undefined ? 'audit.none' : 'audit.none_yet'),
          table: {
            columns: ['time', 'event', 'who', 'client_id'].map((column) => texts.text(`audit.${column}`)).concat(''),
            rows: lines.map((line) => rowOf(texts, line)),
          },
          ...pagerOf(input, cursor, nextCursor),
        },
      }
    },
  ),
  definePage(
    {
      ...{ path: '/audit/export', permission: 'audit.read', section: 'audit' },
      input: z.strictObject({ ...filters, format: z.enum(['jsonl', 'csv']) }),
    },
    async ({ input: { format, ...input }, parts }) => {
      const lines = await readAll(parts, filterOf(input))
      return format === 'csv'
        ? { file: 'audit.csv', type: 'text/csv; charset=utf-8', body: toCsv(lines) }
        : {
            file: 'audit.jsonl',
            type: 'application/jsonl',
            body: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
          }
    },
  ),
  definePage(
    {
      ...{ path: '/audit/verification', permission: 'audit.read', section: 'audit' },
      input: z.strictObject({ since: filters.since, until: filters.until }),
    },
    async ({ input: { since, until }, parts, texts }) => {
      const day = 86_400_000
      const range = {
        since: since === undefined ? parts.clock() - day : timeOf(since),
        ...(until !== undefined && { until: timeOf(until) }),
      }
      const found = unlessRefused(await verifyAuditRange(parts, range))
      return {
        view: 'list',
        title: texts.text('audit.verify.title'),
        data: {
          crumb: { href: '/audit', title: texts.text('nav.audit') },
          lead: texts.text(since === undefined ? 'audit.verify.day' : 'audit.verify.range'),
          state:
            found.faults.length === 0
              ? { tone: 'good', text: texts.text('audit.verify.good') }
              : { tone: 'bad', text: texts.text('audit.verify.bad') },
          filters: {
            ...{ action: '/audit/verification', isOpen: true },
            fields: (['since', 'until'] as const).map((field) => fieldOf(texts, field, { since, until })),
          },
          empty: texts.text('audit.verify.none'),
          table: {
            columns: ['line', 'fault'].map((column) => texts.text(`audit.${column}`)),
            rows: found.faults.map(({ line, kind, message }) => [
              { text: String(line) },
              { text: texts.text(`audit.fault.${kind}`), tone: 'bad' as const, small: message },
            ]),
          },
          sections: [
            {
              facts: [
                [texts.text('audit.verify.lines'), { text: String(found.lines) }],
                [texts.text('audit.verify.writers'), { text: String(found.writers.length) }],
                [texts.text('audit.verify.torn'), { text: String(found.torn.length) }],
                [
                  texts.text('audit.verify.complete'),
                  {
                    text: texts.text(found.complete ? 'common.yes' : 'audit.verify.more'),
                    small: found.complete ? undefined : found.last,
                  },
                ],
              ],
            },
          ],
        },
      }
    },
  ),
]
