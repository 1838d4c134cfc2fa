import { z } from 'zod'
import { addAccount } from '../../administration/account-changes.js'
import { readPerson } from '../../administration/person-pages.js'
import { listQuery, searchQuery } from '../../admin-api/lists.js'
import { readPeople } from '../../admin-api/searched-lists.js'
import { unlessRefused } from '../../admin-api/problem.js'
import type { JsonObject } from '../../json.js'
import { code, pathTo } from '../cells.js'
import { defineForm, definePage } from '../console-page.js'
import { pagerOf } from '../pager.js'
import { actionsOf, claimsOf, consentsOf, devicesOf, factorsOf, grantsOf, sessionsOf } from '../person-sections.js'
import { nameOf, sourceOf, stateOf, subOf, textOf } from '../person-words.js'

export const peoplePages = [
  definePage(
    {
      ...{ path: '/people', permission: 'people.read', section: 'people' },
      input: z.strictObject({ ...listQuery, ...searchQuery }),
    },
    async ({ input, parts, by, texts, may }) => {
      const { search } = input
      const { items, next_cursor } = await readPeople(parts, by, input)
      return {
        view: 'list',
        title: texts.text('nav.people'),
        data: {
          actions: may('people.write') ? [{ href: '/people/new', title: texts.text('people.new'), primary: true }] : [],
          searchField: { action: '/people', label: texts.text('people.search'), value: search },
          empty: texts.text(search === undefined ? 'people.none' : 'people.none_found'),
          table: {
            columns: ['person', 'email', 'source', 'state'].map((name) => texts.text(`people.${name}`)),
            rows: items.map((person) => [
              { text: nameOf(person), small: person.username ?? person.sub, href: pathTo('people', person.sub) },
              { text: textOf(person.claims['email']) ?? '–' },
              sourceOf(texts, person),
              stateOf(texts, person),
            ]),
          },
          ...pagerOf({ search }, input.cursor, next_cursor),
        },
      }
    },
  ),
  definePage({ path: '/people/new', permission: 'people.write', section: 'people' }, ({ texts }) =>
    Promise.resolve({
      view: 'form',
      title: texts.text('people.new'),
      data: {
        crumb: { href: '/people', title: texts.text('nav.people') },
        ...{ action: '/people/new', cancel: '/people', button: texts.text('people.create') },
        groups: [
          {
            fields: [
              { name: 'username', label: texts.text('person.username'), required: true },
              { name: 'name', label: texts.text('person.name') },
              {
                name: 'email',
                kind: 'email',
                label: texts.text('person.email'),
                hint: texts.text('person.email.hint'),
              },
            ],
          },
        ],
      },
    }),
  ),
  defineForm(
    {
      ...{ path: '/people/new', permission: 'people.write', section: 'people' },
      input: z.strictObject({
        username: z.string().max(255),
        name: z.string().max(255).optional(),
        email: z.string().max(255).optional(),
      }),
    },
    async ({ parts, by, input: { username, ...claims } }) => {
      const given = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined)) as JsonObject
      const { sub } = unlessRefused(await addAccount(parts, by, { username, claims: given, hasher: parts.passwords }))
      return { to: pathTo('people', sub), notice: 'person_created' }
    },
  ),
  definePage({ path: '/people/{sub}', permission: 'people.read', section: 'people' }, async (call) => {
    const { parts, by, texts, may } = call
    const sub = subOf(call)
    const { person } = unlessRefused(await readPerson(parts, by, sub))
    const [sessions, grants, consents, factors, devices] = await Promise.all([
      sessionsOf(call, sub),
      grantsOf(call, sub),
      consentsOf(call, sub),
      factorsOf(call, sub),
      devicesOf(call, sub),
    ])
    const actions = actionsOf(call, person)
    return {
      view: 'detail',
      title: nameOf(person),
      data: {
        crumb: { href: '/people', title: texts.text('nav.people') },
        state: stateOf(texts, person),
        ...(person.source === 'configuration' && { lead: texts.text('person.configured') }),
        actions:
          may('people.write') && person.source === 'store'
            ? [{ href: `${pathTo('people', sub)}/edit`, title: texts.text('person.edit'), primary: true }]
            : [],
        sections: [
          {
            facts: [
              [texts.text('person.username'), { text: person.username ?? '–' }],
              [texts.text('person.subject'), code(sub)],
              [texts.text('people.source'), sourceOf(texts, person)],
            ],
          },
          claimsOf(texts, person),
          ...[sessions, grants, factors, consents, ...devices],
          ...(actions.links?.length === 0 ? [] : [actions]),
        ],
      },
    }
  }),
  definePage({ path: '/people/{sub}/edit', permission: 'people.write', section: 'people' }, async (call) => {
    const { parts, by, texts } = call
    const sub = subOf(call)
    const { person, etag } = unlessRefused(await readPerson(parts, by, sub))
    const at = pathTo('people', sub)
    return {
      view: 'form',
      title: texts.text('person.edit.title', { name: nameOf(person) }),
      data: {
        crumb: { href: at, title: nameOf(person) },
        lead: texts.text('person.edit.lead'),
        ...{ action: `${at}/edit`, cancel: at, hidden: { etag } },
        groups: [
          {
            fields: [
              { name: 'username', label: texts.text('person.username'), value: person.username, required: true },
              {
                ...{ name: 'claims', kind: 'text', rows: 12, label: texts.text('person.claims') },
                hint: texts.text('person.claims.hint'),
                value: JSON.stringify(person.claims, undefined, 2),
              },
            ],
          },
        ],
      },
    }
  }),
]
