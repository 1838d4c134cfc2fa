import { z } from 'zod'
import { decideEnrolment, listWaitingEnrolments } from '../../administration/enrolments.js'
import {
  listPrincipalsAfter,
  readPrincipal,
  restorePrincipal,
  revokePrincipals,
} from '../../administration/principals.js'
import type { PrincipalStatus } from '../../attestation/principal-registry.js'
import { isoTime } from '../../clock.js'
import { defineApiRoute, type ApiParts } from '../api-route.js'
import { listOf, listQuery, readPage } from '../lists.js'
import { Problem, unlessRefused } from '../problem.js'

const time = z.iso.datetime()

const shownPrincipal = z.object({
  ...{ id: z.string(), subject: z.string(), principal_id: z.string(), principal_type: z.string() },
  state: z.enum(['active', 'revoked']),
  jkt: z.string(),
  attributes: z.record(z.string(), z.unknown()),
  enrolled_at: time,
  revoked_at: time.optional(),
})

type Enrolled = PrincipalStatus & { readonly id: string }

const isoSeconds = (seconds: number): string => isoTime(seconds * 1000)

const show = ({ id, enrolment, revokedAt }: Enrolled): z.output<typeof shownPrincipal>[] => {
  if (enrolment === undefined) return []
  const { principal, jkt, attributes, enrolledAt } = enrolment
  const { subject, principalId: principal_id, principalType: principal_type } = principal
  const state = revokedAt === undefined ? 'active' : 'revoked'
  const times = {
    enrolled_at: isoSeconds(enrolledAt),
    revoked_at: revokedAt === undefined ? undefined : isoSeconds(revokedAt),
  }
  return [{ id, subject, principal_id, principal_type, state, jkt, attributes, ...times }]
}

/** Throws `Problem` when it is not enrolled. */
const find = async (parts: ApiParts, id: string) => {
  const found = await readPrincipal(parts, id)
  if (found === undefined) throw new Problem(404, 'unknown', 'No such device or service is enrolled.')
  return found
}

const shownEnrolment = z.object({
  ...{ id: z.string(), kind: z.string(), subject: z.string(), principal_id: z.string(), principal_type: z.string() },
  ...{ jkt: z.string(), message: z.string(), address: z.string().optional(), requested_at: time },
  attributes: z.record(z.string(), z.unknown()),
})

const tag = 'Principals'

export const principalRoutes = [
  defineApiRoute(
    {
      ...{ path: '/principals', method: 'GET', permission: 'principals.read', operation: 'listPrincipals', tag },
      summary: 'Lists enrolled devices and services.',
      query: z.strictObject({
        ...listQuery,
        subject: z.string().max(255).optional().describe('Only those of this person.'),
      }),
      output: listOf(shownPrincipal),
    },
    async ({ query, parts }) => {
      const { subject } = query
      const page = await readPage(
        { query, cursors: parts.cursors },
        {
          name: `principals ${subject ?? ''}`,
          read: (after, limit) => listPrincipalsAfter(parts, { subject, after, limit }),
          idOf: ({ id }) => id,
        },
      )
      return { data: { ...page, items: page.items.flatMap(show) } }
    },
  ),
  defineApiRoute(
    {
      ...{ path: '/principals/waiting', method: 'GET', permission: 'principals.read' },
      ...{ operation: 'listWaitingEnrolments', tag },
      summary: 'Lists enrolments that wait for a decision, the oldest first.',
      output: z.object({ items: z.array(shownEnrolment) }),
    },
    async ({ parts }) => {
      const found = unlessRefused(await listWaitingEnrolments(parts.running.secondFactors))
      const items = found.map(({ id, kind, principal, jkt, message, attributes, address, requestedAt }) => {
        const { subject, principalId: principal_id, principalType: principal_type } = principal
        const who = { id, kind, subject, principal_id, principal_type }
        return { ...who, jkt, message, attributes, address, requested_at: isoSeconds(requestedAt) }
      })
      return { data: { items } }
    },
  ),
  ...(['approve', 'deny'] as const).map((decision) =>
    defineApiRoute(
      {
        ...{ path: `/principals/waiting/{id}/${decision}`, method: 'POST', permission: 'principals.write' },
        ...{ operation: decision === 'approve' ? 'approveEnrolment' : 'denyEnrolment', tag },
        summary: decision === 'approve' ? 'Approves an enrolment.' : 'Denies an enrolment.',
      },
      async ({ parts, by, path }) => {
        const factors = parts.running.secondFactors
        unlessRefused(await decideEnrolment(parts, by, { factors, id: path('id'), decision }))
        return { data: undefined }
      },
    ),
  ),
  defineApiRoute(
    {
      ...{ path: '/principals/{id}', method: 'GET', permission: 'principals.read', operation: 'readPrincipal', tag },
      summary: 'Reads one enrolled device or service.',
      output: shownPrincipal,
    },
    async ({ parts, path }) => {
      const found = await find(parts, path('id'))
      return { data: show(found)[0] as z.output<typeof shownPrincipal>, etag: found.etag }
    },
  ),
  defineApiRoute(
    {
      ...{ path: '/principals/{id}/revoke', method: 'POST', permission: 'principals.write' },
      ...{ operation: 'revokePrincipal', tag },
      summary: 'Revokes a device or service: it gets no attestation any more.',
    },
    async ({ parts, by, path }) => {
      const { enrolment } = await find(parts, path('id'))
      unlessRefused((await revokePrincipals(parts, by, [enrolment.principal]))[0])
      return { data: undefined }
    },
  ),
  defineApiRoute(
    {
      ...{ path: '/principals/{id}/restore', method: 'POST', permission: 'principals.write' },
      ...{ operation: 'restorePrincipal', tag },
      summary: 'Reverses a revocation.',
    },
    async ({ parts, by, path }) => {
      const { enrolment } = await find(parts, path('id'))
      unlessRefused(await restorePrincipal(parts, by, enrolment.principal))
      return { data: undefined }
    },
  ),
]
