import { z } from 'zod'
import {
  issueOperatorToken,
  listOperatorTokens,
  revokeOperatorToken,
  type ListedOperatorToken,
} from '../../administration/operators.js'
import { isoTime } from '../../clock.js'
import { permissions } from '../../operators/permissions.js'
import { defineApiRoute } from '../api-route.js'
import { unlessRefused } from '../problem.js'

const shownToken = z.object({
  id: z.string(),
  name: z.string(),
  roles: z.array(z.string()),
  issued_at: z.iso.datetime(),
  expires_at: z.iso.datetime(),
  issued_by: z.string(),
})

const show = ({ issuedAt, expiresAt, issuedBy, ...token }: ListedOperatorToken): z.output<typeof shownToken> => ({
  ...token,
  roles: [...token.roles],
  issued_at: isoTime(issuedAt),
  expires_at: isoTime(expiresAt),
  issued_by: issuedBy,
})

const tag = 'Operators'

export const operatorRoutes = [
  defineApiRoute(
    {
      ...{ path: '/operators/self', method: 'GET', permission: 'operator', operation: 'readSelf', tag },
      summary: 'Shows who sent the request, and what they may do.',
      output: z.object({
        name: z.string(),
        roles: z.array(z.string()),
        permissions: z.array(z.enum(Object.keys(permissions))),
        proof: z.string(),
      }),
    },
    ({ operator: { name, roles, permissions: own, proof } }) =>
      Promise.resolve({ data: { name, roles: [...roles], permissions: [...own], proof } }),
  ),
  defineApiRoute(
    {
      ...{
        path: '/operators/tokens',
        method: 'GET',
        permission: 'operators.read',
        operation: 'listOperatorTokens',
        tag,
      },
      summary: 'Lists the tokens of operators that have not expired.',
      output: z.object({ items: z.array(shownToken) }),
    },
    async ({ parts }) => ({ data: { items: (await listOperatorTokens(parts)).map(show) } }),
  ),
  defineApiRoute(
    {
      ...{
        path: '/operators/tokens',
        method: 'POST',
        permission: 'operators.write',
        operation: 'issueOperatorToken',
        tag,
      },
      summary: 'Issues a token for automation. It is in this answer only.',
      body: z.strictObject({
        name: z.string().min(1).max(64),
        roles: z.array(z.string()).min(1).max(20),
        days: z.int().min(1).max(366).default(90),
      }),
      output: z.object({ id: z.string(), token: z.string(), expires_at: z.iso.datetime() }),
      ...{ status: 201, idempotent: true },
    },
    async ({ parts, by, operator, body: { name, roles, days } }) => {
      const input = { name, roles, expiresIn: days * 86_400, issuer: operator }
      const { id, token, expiresAt } = unlessRefused(await issueOperatorToken(parts, by, input))
      return { data: { id, token, expires_at: isoTime(expiresAt) } }
    },
  ),
  defineApiRoute(
    {
      ...{ path: '/operators/tokens/{id}', method: 'DELETE', permission: 'operators.write' },
      ...{ operation: 'revokeOperatorToken', tag },
      summary: 'Ends a token.',
    },
    async ({ parts, by, path }) => {
      unlessRefused(await revokeOperatorToken(parts, by, path('id')))
      return { data: undefined }
    },
  ),
]
