import { z } from 'zod'
import { isRefusal } from '../../administration/administration.js'
import { decideEnrolment, listWaitingEnrolments } from '../../administration/enrolments.js'
import {
  listPrincipalsAfter,
  readPrincipal,
  restorePrincipal,
  revokePrincipals,
} from '../../administration/principals.js'
import { listQuery, readPage } from '../../admin-api/lists.js'
import { Problem, unlessRefused } from '../../admin-api/problem.js'
import type { ApiParts } from '../../admin-api/api-route.js'
import type { Translator } from '../../interaction/languages/translator.js'
import { code, pathTo, timeCell, type Cell, type Section } from '../cells.js'
import { defineForm, definePage } from '../console-page.js'
import { pagerOf } from '../pager.js'

const stateCell = (texts: Translator, revokedAt: number | undefined): Cell =>
  revokedAt === undefined
    ? { text: texts.text('common.active'), tone: 'good' }
    : { text: texts.text('devices.revoked'), tone: 'bad' }

/** Enrolments that people have to decide about come first, since somebody waits for them. */
const waitingSection = async (parts: ApiParts, texts: Translator, mayWrite: boolean): Promise<readonly Section[]> => {
  const waiting = await listWaitingEnrolments(parts.running.secondFactors)
  if (isRefusal(waiting)) return []
  return [
    {
      title: texts.text('devices.waiting'),
      table: {
        columns: ['device', 'person', 'message', 'address', 'since']
          .map((name) => texts.text(`devices.${name}`))
          .concat(''),
        rows: waiting.map(({ id, kind, principal, message, address, requestedAt }) => [
          { text: principal.principalId, small: `${principal.principalType} · ${kind}` },
          { text: principal.subject },
          { text: message },
          { text: address ?? '–' },
          timeCell(texts, requestedAt * 1000),
          mayWrite
            ? {
                buttons: [
                  { action: `${pathTo('devices', 'waiting', id)}/approve`, title: texts.text('devices.approve') },
                  {
                    action: `${pathTo('devices', 'waiting', id)}/deny`,
                    title: texts.text('devices.deny'),
                    danger: true,
                  },
                ],
              }
            : {},
        ]),
      },
      empty: texts.text('devices.none_waiting'),
    },
  ]
}

const find = async (parts: ApiParts, id: string) => {
  const found = await readPrincipal(parts, id)
  if (found === undefined) throw new Problem(404, 'unknown', 'No such device or service is enrolled.')
  return found
}

const decide = (decision: 'approve' | 'deny') =>
  defineForm(
    { path: `/devices/waiting/{id}/${decision}`, permission: 'principals.write', section: 'devices' },
    async ({ parts, by, path }) => {
      const factors = parts.running.secondFactors
      unlessRefused(await decideEnrolment(parts, by, { factors, id: path('id'), decision }))
      return { to: '/devices', notice: decision === 'approve' ? 'enrolment_approved' : 'enrolment_denied' }
    },
  )

export const devicePages = [
  definePage(
    {
      ...{ path: '/devices', permission: 'principals.read', section: 'devices' },
      input: z.strictObject({ ...listQuery, search: z.string().max(255).optional() }),
    },
    async ({ input, parts, texts, may }) => {
      const { search: subject } = input
      const { items, next_cursor } = await readPage(
        { query: input, cursors: parts.cursors },
        {
          name: `principals ${subject ?? ''}`,
          read: (after, limit) => listPrincipalsAfter(parts, { subject, after, limit }),
          idOf: ({ id }) => id,
        },
      )
      return {
        view: 'list',
        title: texts.text('nav.devices'),
        data: {
          searchField: { action: '/devices', label: texts.text('devices.search'), value: subject },
          empty: texts.text(subject === undefined ? 'devices.none' : 'devices.none_found'),
          table: {
            columns: ['device', 'person', 'state', 'enrolled'].map((name) => texts.text(`devices.${name}`)),
            rows: items.flatMap(({ id, enrolment, revokedAt }) =>
              enrolment === undefined
                ? []
                : [
                    [
                      {
                        text: enrolment.principal.principalId,
                        small: enrolment.principal.principalType,
                        href: pathTo('devices', id),
                      },
                      { text: enrolment.principal.subject, href: pathTo('people', enrolment.principal.subject) },
                      stateCell(texts, revokedAt),
                      timeCell(texts, enrolment.enrolledAt * 1000),
                    ],
                  ],
            ),
          },
          ...pagerOf({ search: subject }, input.cursor, next_cursor),
          sections: await waitingSection(parts, texts, may('principals.write')),
        },
      }
    },
  ),
  definePage(
    { path: '/devices/{id}', permission: 'principals.read', section: 'devices' },
    async ({ parts, texts, may, path }) => {
      const { id, enrolment, revokedAt } = await find(parts, path('id'))
      const { principal, jkt, attributes, enrolledAt } = enrolment
      const at = pathTo('devices', id)
      const isRevoked = revokedAt !== undefined
      return {
        view: 'detail',
        title: principal.principalId,
        data: {
          crumb: { href: '/devices', title: texts.text('nav.devices') },
          state: stateCell(texts, revokedAt),
          sections: [
            {
              facts: [
                [texts.text('devices.person'), { text: principal.subject, href: pathTo('people', principal.subject) }],
                [texts.text('devices.type'), { text: principal.principalType }],
                [texts.text('devices.key'), code(jkt)],
                [texts.text('devices.enrolled'), timeCell(texts, enrolledAt * 1000)],
                ...(isRevoked ? [[texts.text('devices.revoked_at'), timeCell(texts, revokedAt * 1000)] as const] : []),
              ],
              pre: Object.keys(attributes).length === 0 ? undefined : JSON.stringify(attributes, undefined, 2),
              lead: texts.text(isRevoked ? 'devices.lead.revoked' : 'devices.lead.active'),
              buttons: may('principals.write')
                ? [
                    isRevoked
                      ? { action: `${at}/restore`, title: texts.text('devices.restore') }
                      : { action: `${at}/revoke`, title: texts.text('common.revoke'), danger: true },
                  ]
                : [],
            },
          ],
        },
      }
    },
  ),
  defineForm(
    { path: '/devices/{id}/revoke', permission: 'principals.write', section: 'devices' },
    async ({ parts, by, path }) => {
      const { id, enrolment } = await find(parts, path('id'))
      unlessRefused((await revokePrincipals(parts, by, [enrolment.principal]))[0])
      return { to: pathTo('devices', id), notice: 'device_revoked' }
    },
  ),
  defineForm(
    { path: '/devices/{id}/restore', permission: 'principals.write', section: 'devices' },
    async ({ parts, by, path }) => {
      const { id, enrolment } = await find(parts, path('id'))
      unlessRefused(await restorePrincipal(parts, by, enrolment.principal))
      return { to: pathTo('devices', id), notice: 'device_restored' }
    },
  ),
  decide('approve'),
  decide('deny'),
]
