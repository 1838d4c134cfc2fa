import { z } from 'zod'
import {
  issueInitialAccessToken,
  listInitialAccessTokens,
  revokeInitialAccessToken,
} from '../../administration/registrations.js'
import { unlessRefused } from '../../admin-api/problem.js'
import { code, numberCell, pathTo, timeCell } from '../cells.js'
import { defineForm, definePage } from '../console-page.js'

const day = 86_400

export const registrationPages = [
  definePage(
    { path: '/registrations', permission: 'registrations.read', section: 'registrations' },
    async ({ parts, texts, may }) => {
      const { mode, policies } = parts.config.registration
      const found = await listInitialAccessTokens(parts)
      const mayIssue = may('registrations.write') && mode !== 'off'
      return {
        view: 'list',
        title: texts.text('nav.registrations'),
        data: {
          lead: texts.text(`registrations.mode.${mode}`),
          actions: mayIssue
            ? [{ href: '/registrations/new', title: texts.text('registrations.new'), primary: true }]
            : [],
          empty: texts.text('registrations.none'),
          table: {
            columns: [
              texts.text('registrations.token'),
              { title: texts.text('registrations.used'), number: true },
              { title: texts.text('registrations.uses'), number: true },
              texts.text('registrations.policy'),
              texts.text('registrations.expires'),
              '',
            ],
            rows: found.map(({ id, note, used, uses, policy, expiresAt }) => [
              { ...code(id), small: note },
              numberCell(used),
              numberCell(uses),
              { text: policy ?? texts.text('registrations.default_policy') },
              timeCell(texts, expiresAt * 1000),
              may('registrations.write')
                ? {
                    buttons: [
                      {
                        action: `${pathTo('registrations', id)}/revoke`,
                        title: texts.text('common.revoke'),
                        danger: true,
                      },
                    ],
                  }
                : {},
            ]),
          },
          sections: [
            {
              title: texts.text('registrations.policies'),
              table: {
                columns: [texts.text('registrations.policy')],
                rows: Object.keys(policies).map((name) => [code(name)]),
              },
              empty: texts.text('registrations.no_policies'),
            },
          ],
        },
      }
    },
  ),
  definePage(
    { path: '/registrations/new', permission: 'registrations.write', section: 'registrations' },
    ({ parts, texts }) =>
      Promise.resolve({
        view: 'form',
        title: texts.text('registrations.new'),
        data: {
          crumb: { href: '/registrations', title: texts.text('nav.registrations') },
          ...{ action: '/registrations/new', cancel: '/registrations', button: texts.text('registrations.issue') },
          groups: [
            {
              fields: [
                {
                  name: 'uses',
                  kind: 'number',
                  label: texts.text('registrations.uses'),
                  hint: texts.text('registrations.uses.hint'),
                  value: '1',
                },
                { name: 'days', kind: 'number', label: texts.text('registrations.days'), value: '1' },
                {
                  ...{ name: 'policy', kind: 'select', label: texts.text('registrations.policy'), value: '' },
                  options: [
                    { value: '', title: texts.text('registrations.default_policy') },
                    ...Object.keys(parts.config.registration.policies).map((value) => ({ value, title: value })),
                  ],
                },
                { name: 'note', label: texts.text('registrations.note'), hint: texts.text('registrations.note.hint') },
              ],
            },
          ],
        },
      }),
  ),
  defineForm(
    {
      ...{ path: '/registrations/new', permission: 'registrations.write', section: 'registrations' },
      input: z.strictObject({
        uses: z.coerce.number().int().min(1).max(1_000_000),
        days: z.coerce.number().int().min(1).max(366),
        policy: z.string().max(64).optional(),
        note: z.string().max(200).optional(),
      }),
    },
    async ({ parts, by, texts, input: { days, ...rest } }) => {
      const { id, token } = unlessRefused(await issueInitialAccessToken(parts, by, { ...rest, expiresIn: days * day }))
      return {
        view: 'secret',
        title: texts.text('registrations.issued'),
        data: {
          secrets: [
            [texts.text('registrations.token'), id],
            [texts.text('registrations.secret'), token],
          ],
          done: '/registrations',
        },
      }
    },
  ),
  defineForm(
    { path: '/registrations/{id}/revoke', permission: 'registrations.write', section: 'registrations' },
    async ({ parts, by, path }) => {
      unlessRefused(await revokeInitialAccessToken(parts, by, path('id')))
      return { to: '/registrations', notice: 'token_revoked' }
    },
  ),
]
