import { z } from 'zod'
import { findAuditLines, verifyAuditRange } from '../../administration/audit.js'
import { objectTypes, type AuditFilter } from '../../observe/audit-search/terms.js'
import type { AuditPosition } from '../../observe/audit-search/search.js'
import { defineApiRoute } from '../api-route.js'
import { listQuery } from '../lists.js'
import { unlessRefused } from '../problem.js'

const value = (description: string) => z.string().min(1).max(512).optional().describe(description)

const time = (description: string) => z.iso.datetime({ offset: true }).optional().describe(description)

const range = {
  since: time('From this time on.'),
  until: time('Before this time.'),
} as const

const eventNames = /^[a-z_]+(\.[a-z_]+)*(\.\*)?(,[a-z_]+(\.[a-z_]+)*(\.\*)?){0,19}$/

const filters = {
  event: z
    .string()
    .max(512)
    .regex(eventNames)
    .optional()
    .describe('Names of events, separated by commas; `account.*` stands for all that begin so.'),
  client_id: value('The client, or the one that the request named.'),
  sub: value('The person.'),
  jti: value('The token.'),
  kid: value('A key that signed, or that the line is about.'),
  operator: value('The operator who did it; `local` is a command on the host.'),
  request_id: value('The request.'),
  object: z
    .string()
    .max(512)
    .regex(new RegExp(`^(?:${objectTypes.join('|')}):`))
    .optional()
    .describe('What was changed: a type and an id, such as `client:shop` or `account:ada`.'),
  ...range,
} as const

const millisecondsOf = ({
  since,
  until,
}: {
  readonly since?: string | undefined
  readonly until?: string | undefined
}) => ({
  ...(since !== undefined && { since: Date.parse(since) }),
  ...(until !== undefined && { until: Date.parse(until) }),
})

const given = <T extends object>(members: T): { [Name in keyof T]: Exclude<T[Name], undefined> } =>
  Object.fromEntries(Object.entries(members).filter(([, one]) => one !== undefined)) as never

const filterOf = ({ event, since, until, ...members }: z.output<z.ZodObject<typeof filters>>): AuditFilter => ({
  ...given(members),
  ...(event !== undefined && { events: event.split(',') }),
  ...millisecondsOf({ since, until }),
})

const line = z.looseObject({
  event: z.string(),
  time: z.string().optional(),
  writer: z.string().optional(),
  seq: z.int().optional(),
})

const notRead = z.array(z.string()).describe('Compressed files of the log, which only commands read.')

const tag = 'Audit log'

export const auditRoutes = [
  defineApiRoute(
    {
      ...{ path: '/audit', method: 'GET', permission: 'audit.read', operation: 'findAuditLines', tag },
      summary:
        'Searches the audit log of the host that answers, the newest lines first. A page may have fewer lines than `limit`, or none, and yet a next one.',
      query: z.strictObject({ ...listQuery, ...filters }),
      output: z.object({
        items: z.array(line.describe('A line of the log as it was written.')),
        next_cursor: z.string().optional(),
        not_searched: notRead,
      }),
    },
    async ({ query: { limit, cursor, ...query }, parts }) => {
      const filter = filterOf(query)
      const name = `audit ${JSON.stringify(filter)}`
      const from =
        cursor === undefined ? undefined : (JSON.parse(await parts.cursors.read(name, cursor)) as AuditPosition)
      const { lines, next, notSearched } = unlessRefused(await findAuditLines(parts, { filter, limit, from }))
      return {
        data: {
          items: lines as z.output<typeof line>[],
          ...(next !== undefined && { next_cursor: await parts.cursors.write(name, JSON.stringify(next)) }),
          not_searched: [...notSearched],
        },
      }
    },
  ),
  defineApiRoute(
    {
      ...{ path: '/audit/verification', method: 'GET', permission: 'audit.read', operation: 'verifyAuditLog', tag },
      summary:
        'Verifies the chains of a range of the audit log of the host that answers, where the first line of each writer is taken as it is. When `complete` is false, the time was over: continue with `last` as `since`.',
      query: z.strictObject(range),
      output: z.object({
        lines: z.int(),
        complete: z.boolean(),
        first: z.string().optional(),
        last: z.string().optional(),
        faults: z.array(
          z.object({
            kind: z.enum(['changed', 'missing', 'reordered', 'repeated', 'unchained']),
            line: z.int().describe('Counted from 1 in the range.'),
            writer: z.string().optional(),
            message: z.string(),
          }),
        ),
        torn: z.int().describe('Lines that a process left incomplete when it was killed or the disk was full.'),
        writers: z.array(
          z.object({ writer: z.string(), lines: z.int(), first: z.int(), last: z.int(), head: z.string() }),
        ),
        not_verified: notRead,
      }),
    },
    async ({ query, parts }) => {
      const found = unlessRefused(await verifyAuditRange(parts, millisecondsOf(query)))
      const { lines, complete, first, last, faults, torn, writers, notVerified } = found
      return {
        data: {
          ...{ lines, complete, faults: [...faults], torn: torn.length, writers: [...writers] },
          ...(first !== undefined && { first }),
          ...(last !== undefined && { last }),
          not_verified: [...notVerified],
        },
      }
    },
  ),
]
