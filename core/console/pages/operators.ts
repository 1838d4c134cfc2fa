import { issueOperatorLink } from '../../administration/operator-links.js'
import { z } from 'zod'
import {
  addOperator,
  listOperators,
  readOperator,
  removeOperator,
  updateOperator,
} from '../../administration/operator-people.js'
import { Problem, unlessRefused } from '../../admin-api/problem.js'
import type { ApiParts } from '../../admin-api/api-route.js'
import { code, pathTo, timeCell } from '../cells.js'
import { defineForm, definePage, type ConsoleCall } from '../console-page.js'
import { operatorForm, readRoles, roleFields, roleInput, rolesSection } from '../operator-roles.js'
import { tokensSection } from './operator-tokens.js'

const find = async (parts: ApiParts, name: string) => {
  const found = await readOperator(parts, name)
  if (found === undefined) throw new Problem(404, 'unknown', 'There is no such object.')
  return found
}

const write = { permission: 'operators.write', section: 'operators' } as const

export const operatorPages = [
  definePage({ path: '/operators', permission: 'operators.read', section: 'operators' }, async (call) => {
    const { parts, texts, may } = call
    const operators = await listOperators(parts)
    return {
      view: 'list',
      title: texts.text('nav.operators'),
      data: {
        actions: may('operators.write')
          ? [{ href: '/operators/new', title: texts.text('operators.new'), primary: true }]
          : [],
        empty: texts.text('operators.none'),
        table: {
          columns: ['name', 'roles', 'credentials', 'source', 'state'].map((name) => texts.text(`operators.${name}`)),
          rows: operators.map(({ name, roles, credentials, source, disabled }) => [
            { text: name, href: pathTo('operators', name) },
            code(roles.join(' ')),
            {
              text:
                credentials.length === 0
                  ? texts.text('operators.no_credentials')
                  : credentials.map(({ kind }) => texts.text(`credentials.kind.${kind}`)).join(', '),
            },
            { text: texts.text(`clients.from.${source}`) },
            disabled
              ? { text: texts.text('common.disabled'), tone: 'bad' as const }
              : { text: texts.text('common.active'), tone: 'good' as const },
          ]),
        },
        sections: [await tokensSection(call as ConsoleCall<never>), rolesSection(call)],
      },
    }
  }),
  definePage({ path: '/operators/new', ...write }, (call) =>
    Promise.resolve(operatorForm(call as ConsoleCall<never>, 'new', '/operators/new')),
  ),
  defineForm({ path: '/operators/new', ...write, input: roleInput }, async ({ parts, by, operator: issuer, input }) => {
    const name = input.name ?? ''
    unlessRefused(await addOperator(parts, by, { name, roles: readRoles(input), disabled: false, issuer }))
    return { to: pathTo('operators', name), notice: 'operator_added' }
  }),
  definePage(
    { path: '/operators/{name}', permission: 'operators.read', section: 'operators' },
    async ({ parts, texts, path, may, operator }) => {
      const { name, roles, credentials, source, disabled } = await find(parts, path('name'))
      const at = pathTo('operators', name)
      const mayChange = may('operators.write') && source === 'store'
      return {
        view: 'detail',
        title: name,
        data: {
          crumb: { href: '/operators', title: texts.text('nav.operators') },
          state: disabled
            ? { tone: 'bad', text: texts.text('common.disabled') }
            : { tone: 'good', text: texts.text('common.active') },
          actions: mayChange ? [{ href: `${at}/edit`, title: texts.text('operators.edit'), primary: true }] : [],
          ...(source === 'configuration' && { lead: texts.text('operators.configured') }),
          sections: [
            {
              facts: [
                [texts.text('operators.roles'), code(roles.join(' '))],
                [texts.text('operators.source'), { text: texts.text(`clients.from.${source}`) }],
              ],
              links: [
                ...(may('audit.read')
                  ? [{ href: `/audit?operator=${encodeURIComponent(name)}`, title: texts.text('operators.done') }]
                  : []),
                ...(may('operators.write') ? [{ href: `${at}/link`, title: texts.text('operators.link') }] : []),
                ...(mayChange && name !== operator.name
                  ? [{ href: `${at}/remove`, title: texts.text('person.remove'), danger: true }]
                  : []),
              ],
            },
            {
              title: texts.text('operators.credentials'),
              table: {
                columns: [texts.text('operators.kind'), 'ID'],
                rows: credentials.map(({ kind, id }) => [{ text: texts.text(`credentials.kind.${kind}`) }, code(id)]),
              },
              empty: texts.text('operators.no_credentials.lead'),
            },
          ],
        },
      }
    },
  ),
  definePage({ path: '/operators/{name}/edit', ...write }, async (call) => {
    const { parts, texts, path } = call
    const { name, roles, disabled, etag } = await find(parts, path('name'))
    const at = pathTo('operators', name)
    return {
      view: 'form',
      title: texts.text('person.edit.title', { name }),
      data: {
        crumb: { href: at, title: name },
        ...{ action: `${at}/edit`, cancel: at, hidden: { etag } },
        groups: [
          { title: texts.text('operators.roles'), fields: roleFields(call, roles) },
          {
            title: texts.text('operators.state'),
            fields: [
              {
                kind: 'check',
                name: 'disabled',
                label: texts.text('operators.disabled'),
                hint: texts.text('operators.disabled.hint'),
                value: disabled,
              },
            ],
          },
        ],
      },
    }
  }),
  defineForm(
    { path: '/operators/{name}/edit', ...write, input: roleInput },
    async ({ parts, by, operator: issuer, path, input }) => {
      const name = path('name')
      const changed = {
        name,
        issuer,
        roles: readRoles(input),
        disabled: input['disabled'] !== undefined,
        ifMatch: input.etag,
      }
      unlessRefused(await updateOperator(parts, by, changed))
      return { to: pathTo('operators', name), notice: 'operator_changed' }
    },
  ),
  definePage({ path: '/operators/{name}/remove', ...write }, async ({ parts, texts, path }) => {
    const { name, etag } = await find(parts, path('name'))
    const at = pathTo('operators', name)
    return {
      view: 'confirm',
      title: texts.text('operators.remove.title', { name }),
      data: {
        crumb: { href: at, title: name },
        consequences: [1, 2].map((number) => texts.text(`operators.remove.consequence.${String(number)}`)),
        ...{ action: `${at}/remove`, cancel: at, hidden: { etag }, typed: name, button: texts.text('person.remove') },
      },
    }
  }),
  defineForm(
    {
      path: '/operators/{name}/remove',
      ...write,
      input: z.strictObject({ etag: z.string().max(64), typed: z.string().max(64) }),
    },
    async ({ parts, by, operator: issuer, path, input }) => {
      const name = path('name')
      if (input.typed !== name) throw new Problem(400, 'name_mismatch', 'The name that was typed is another one.')
      unlessRefused(await removeOperator(parts, by, { name, issuer, ifMatch: input.etag }))
      return { to: '/operators', notice: 'operator_removed' }
    },
  ),
  definePage({ path: '/operators/{name}/link', ...write }, async ({ parts, texts, path }) => {
    const { name } = await find(parts, path('name'))
    const at = pathTo('operators', name)
    return {
      view: 'confirm',
      title: texts.text('operators.link.title', { name }),
      data: {
        crumb: { href: at, title: name },
        consequences: [1, 2].map((number) => texts.text(`operators.link.consequence.${String(number)}`)),
        ...{ action: `${at}/link`, cancel: at, button: texts.text('operators.link') },
      },
    }
  }),
  defineForm(
    { path: '/operators/{name}/link', ...write },
    async ({ parts, by, operator: issuer, path, texts, request }) => {
      const name = path('name')
      const { path: address, expiresAt } = unlessRefused(await issueOperatorLink(parts, by, { name, issuer }))
      const site = parts.operators.site(request)
      const base = site === undefined ? '' : `${site.origin}${site.path}`
      return {
        view: 'secret',
        title: texts.text('operators.link'),
        data: {
          secrets: [[texts.text('person.recover.address'), `${base}${address}`]],
          sections: [{ facts: [[texts.text('operators.expires'), timeCell(texts, expiresAt)]] }],
          done: pathTo('operators', name),
        },
      }
    },
  ),
]
