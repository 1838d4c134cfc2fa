import { z } from 'zod'
import {
  issueInitialAccessToken,
  listInitialAccessTokens,
  revokeInitialAccessToken,
} from '../../administration/registrations.js'
import { isoTime } from '../../clock.js'
import { defineApiRoute } from '../api-route.js'
import { unlessRefused } from '../problem.js'

const time = z.iso.datetime()

const shownToken = z.object({
  ...{ id: z.string(), uses: z.int(), used: z.int(), issued_at: time, expires_at: time },
  ...{ policy: z.string().optional(), note: z.string().optional() },
})

const tag = 'Registrations'
const path = '/initial-access-tokens'
const maxSeconds = 366 * 86_400

export const registrationRoutes = [
  defineApiRoute(
    {
      ...{
        path: '/registrations',
        method: 'GET',
        permission: 'registrations.read',
        operation: 'readRegistration',
        tag,
      },
      summary: 'Shows who may register clients, and with which policies.',
      output: z.object({ mode: z.string(), policies: z.array(z.string()) }),
    },
    ({ parts }) => {
      const { mode, policies } = parts.config.registration
      return Promise.resolve({ data: { mode, policies: Object.keys(policies) } })
    },
  ),
  defineApiRoute(
    {
      ...{ path, method: 'GET', permission: 'registrations.read', operation: 'listInitialAccessTokens', tag },
      summary: 'Lists initial access tokens that have not expired (RFC 7591 §1.2).',
      output: z.object({ items: z.array(shownToken) }),
    },
    async ({ parts }) => {
      const found = await listInitialAccessTokens(parts)
      const items = found.map(({ issuedAt, expiresAt, ...token }) => ({
        ...token,
        issued_at: isoTime(issuedAt * 1000),
        expires_at: isoTime(expiresAt * 1000),
      }))
      return { data: { items } }
    },
  ),
  defineApiRoute(
    {
      ...{ path, method: 'POST', permission: 'registrations.write', operation: 'issueInitialAccessToken', tag },
      summary: 'Issues an initial access token. It is in this answer only.',
      body: z.strictObject({
        uses: z.int().min(1).max(1_000_000).default(1),
        expires_in: z.int().min(60).max(maxSeconds).default(86_400).describe('Seconds.'),
        policy: z.string().max(64).optional(),
        note: z.string().max(200).optional(),
      }),
      output: z.object({ id: z.string(), token: z.string(), expires_at: time }),
      ...{ status: 201, idempotent: true },
    },
    async ({ parts, by, body: { expires_in: expiresIn, ...rest } }) => {
      const issued = unlessRefused(await issueInitialAccessToken(parts, by, { ...rest, expiresIn }))
      const { id, token, expiresAt } = issued
      return { data: { id, token, expires_at: isoTime(expiresAt * 1000) } }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/{id}`, method: 'DELETE', permission: 'registrations.write' },
      ...{ operation: 'revokeInitialAccessToken', tag },
      summary: 'Ends an initial access token. The clients that were registered with it stay.',
    },
    async ({ parts, by, path: at }) => {
      unlessRefused(await revokeInitialAccessToken(parts, by, at('id')))
      return { data: undefined }
    },
  ),
]
