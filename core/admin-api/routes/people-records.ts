import { z } from 'zod'
import { revokeConsents } from '../../administration/consents.js'
import { listFactors, removeFactor } from '../../administration/factors.js'
import { revokeGrantOf, revokeGrantsOf } from '../../administration/grants.js'
import { pageConsents, pageDevices, pageGrants, pageSessions, type PageOf } from '../../administration/person-pages.js'
import { revokeDeviceOf } from '../../administration/principals.js'
import { endSessions } from '../../administration/sessions.js'
import { isRefusal, type Administration, type Operator } from '../../administration/administration.js'
import { defineApiRoute, type ApiRoute } from '../api-route.js'
import { listOf, listQuery, readLivePage } from '../lists.js'
import {
  describeConsent,
  describeDevice,
  describeFactor,
  describeGrant,
  describeSession,
  shownConsent,
  shownDevice,
  shownFactor,
  shownGrant,
  shownSession,
} from '../people-documents.js'
import { unlessRefused } from '../problem.js'
import { subOf } from './people.js'

const tag = 'People'
const path = '/people/{sub}'

interface ListRoute<Item, Shown> {
  readonly name: string
  readonly operation: string
  readonly summary: string
  readonly item: z.ZodType<Shown>
  read(
    administration: Administration,
    by: Operator,
    page: PageOf,
  ): Promise<{ readonly found: readonly Item[]; readonly next?: string }>
  describe(item: Item): NoInfer<Shown>
}

/** A list of what one person has. */
const listRoute = <Item, Shown>({ name, item, read, describe, ...rest }: ListRoute<Item, Shown>): ApiRoute =>
  defineApiRoute(
    {
      ...{ path: `${path}/${name}`, method: 'GET', permission: 'people.read', tag, ...rest },
      query: z.strictObject(listQuery),
      output: listOf(item),
    },
    async (call) => {
      const { query, parts, by } = call
      const sub = subOf(call)
      const { items, ...next } = await readLivePage(
        { query, cursors: parts.cursors },
        `${name} ${sub}`,
        (after, limit) => read(parts, by, { sub, after, limit }),
      )
      return { data: { items: items.map(describe), ...next } }
    },
  )

const ended = (member: string) => z.object({ [member]: z.array(z.string()) })

export const peopleRecordRoutes = [
  listRoute({
    ...{ name: 'sessions', operation: 'listSessions', item: shownSession },
    summary: 'Lists the sessions of a person.',
    ...{ read: pageSessions, describe: describeSession },
  }),
  defineApiRoute(
    {
      ...{ path: `${path}/sessions`, method: 'DELETE', permission: 'people.support', operation: 'endSessions', tag },
      summary: 'Ends all sessions of a person, with what was granted in them.',
      output: ended('sessions'),
    },
    async (call) => {
      const result = await endSessions(call.parts, call.by, { sub: subOf(call) })
      return { data: { sessions: isRefusal(result) ? [] : [...result.sids] } }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/sessions/{sid}`, method: 'DELETE', permission: 'people.support' },
      ...{ operation: 'endSession', tag },
      summary: 'Ends a session of a person, with what was granted in it.',
    },
    async (call) => {
      unlessRefused(await endSessions(call.parts, call.by, { sub: subOf(call), sid: call.path('sid') }))
      return { data: undefined }
    },
  ),
  listRoute({
    ...{ name: 'grants', operation: 'listGrants', item: shownGrant },
    summary: 'Lists what a person has granted to clients.',
    ...{ read: pageGrants, describe: describeGrant },
  }),
  defineApiRoute(
    {
      ...{ path: `${path}/grants`, method: 'DELETE', permission: 'people.support', operation: 'revokeGrants', tag },
      summary: 'Ends everything that a person has granted, also what no list has, to all clients or to one.',
      query: z.strictObject({ client_id: z.string().min(1).max(512).optional() }),
      output: ended('grants'),
    },
    async (call) => {
      const { grants } = await revokeGrantsOf(call.parts, call.by, { sub: subOf(call), ...call.query })
      return { data: { grants: [...grants] } }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/grants/{grant_id}`, method: 'DELETE', permission: 'people.support' },
      ...{ operation: 'revokeGrant', tag },
      summary: 'Ends a grant of a person with all its tokens.',
    },
    async (call) => {
      unlessRefused(await revokeGrantOf(call.parts, call.by, { sub: subOf(call), grant_id: call.path('grant_id') }))
      return { data: undefined }
    },
  ),
  listRoute({
    ...{ name: 'consents', operation: 'listConsents', item: shownConsent },
    summary: 'Lists the remembered consents of a person.',
    ...{ read: pageConsents, describe: describeConsent },
  }),
  defineApiRoute(
    {
      ...{ path: `${path}/consents`, method: 'DELETE', permission: 'people.support' },
      ...{ operation: 'revokeConsents', tag },
      summary: 'Removes all remembered consents of a person. What was granted with them stays.',
      output: ended('clients'),
    },
    async (call) => {
      const result = await revokeConsents(call.parts, call.by, { sub: subOf(call) })
      return { data: { clients: isRefusal(result) ? [] : [...result.clients] } }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/consents/{client_id}`, method: 'DELETE', permission: 'people.support' },
      ...{ operation: 'revokeConsent', tag },
      summary: 'Removes the remembered consent of a person for one client.',
    },
    async (call) => {
      const input = { sub: subOf(call), client_id: call.path('client_id') }
      unlessRefused(await revokeConsents(call.parts, call.by, input))
      return { data: undefined }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/factors`, method: 'GET', permission: 'people.read', operation: 'listFactors', tag },
      summary: 'Lists the factors of a person. The audit log always records who looks at them.',
      output: z.object({ items: z.array(shownFactor) }),
    },
    async (call) => {
      const factors = unlessRefused(await listFactors(call.parts, call.by, { sub: subOf(call) }))
      return { data: { items: factors.map(describeFactor) } }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/factors/{id}`, method: 'DELETE', permission: 'people.support' },
      ...{ operation: 'removeFactor', tag },
      summary: 'Removes a factor of a person.',
    },
    async (call) => {
      const who = { sub: subOf(call) }
      unlessRefused(await removeFactor(call.parts, call.by, { who, factor: call.path('id') }))
      return { data: undefined }
    },
  ),
  listRoute({
    ...{ name: 'devices', operation: 'listDevices', item: shownDevice },
    summary: 'Lists the devices and services that a person has enrolled.',
    ...{ read: pageDevices, describe: describeDevice },
  }),
  defineApiRoute(
    {
      ...{ path: `${path}/devices/{id}`, method: 'DELETE', permission: 'people.support' },
      ...{ operation: 'revokeDevice', tag },
      summary: 'Revokes a device of a person, which gets no new attestation.',
    },
    async (call) => {
      unlessRefused(await revokeDeviceOf(call.parts, call.by, { sub: subOf(call), id: call.path('id') }))
      return { data: undefined }
    },
  ),
]
