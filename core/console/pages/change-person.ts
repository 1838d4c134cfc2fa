import { z } from 'zod'
import { removeAccount } from '../../administration/account-changes.js'
import { revokeConsents } from '../../administration/consents.js'
import { removeFactor } from '../../administration/factors.js'
import { revokeGrantOf } from '../../administration/grants.js'
import { endPerson } from '../../administration/people.js'
import { patchPerson, setPersonDisabled } from '../../administration/person-changes.js'
import { readPerson } from '../../administration/person-pages.js'
import { issueRecoveryLink } from '../../administration/recovery.js'
import { endSessions } from '../../administration/sessions.js'
import { Problem, unlessRefused } from '../../admin-api/problem.js'
import type { JsonObject } from '../../json.js'
import { pathTo, timeCell } from '../cells.js'
import { defineForm, definePage, type ConsoleCall } from '../console-page.js'
import type { Call } from '../person-sections.js'
import { nameOf, subOf } from '../person-words.js'

const readClaims = (written: string): JsonObject => {
  try {
    const value: unknown = JSON.parse(written)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonObject
  } catch {
    // It is refused like any other text that is no object.
  }
  throw new Problem(400, 'invalid_claims', 'The claims must be one JSON object.')
}

/** A page before a change of a person, and the change itself. */
const confirmed = <Name extends 'disable' | 'enable' | 'end' | 'delete'>(
  name: Name,
  permission: 'people.support' | 'people.write',
  act: (
    call: ConsoleCall<{ readonly factors?: string | undefined; readonly etag: string }>,
    sub: string,
  ) => Promise<unknown>,
) => {
  const declared = { path: `/people/{sub}/${name}`, permission, section: 'people' } as const
  return [
    definePage(declared, async (call) => {
      const { parts, by, texts } = call
      const { person, etag } = unlessRefused(await readPerson(parts, by, subOf(call)))
      const at = pathTo('people', person.sub)
      return {
        view: 'confirm',
        title: texts.text(`person.${name}.title`, { name: nameOf(person) }),
        data: {
          crumb: { href: at, title: nameOf(person) },
          consequences: [1, 2].map((number) => texts.text(`person.${name}.consequence.${String(number)}`)),
          ...{ action: `${at}/${name}`, cancel: at, hidden: { etag } },
          ...(name === 'end' && {
            fields: [
              {
                kind: 'check',
                name: 'factors',
                label: texts.text('person.end.factors'),
                hint: texts.text('person.end.factors.hint'),
              },
            ],
          }),
          ...(name === 'delete' && { typed: person.username ?? person.sub }),
          button: texts.text(`person.${name === 'end' ? 'end_all' : name}`),
        },
      }
    }),
    defineForm(
      {
        ...declared,
        input: z.strictObject({
          etag: z.string().max(64),
          typed: z.string().max(255).optional(),
          factors: z.string().optional(),
        }),
      },
      async (call) => {
        const sub = subOf(call)
        const { person } = unlessRefused(await readPerson(call.parts, call.by, sub))
        if (name === 'delete' && call.input.typed !== (person.username ?? sub))
          throw new Problem(400, 'name_mismatch', 'The name that was typed is another one.')
        await act(call, sub)
        return name === 'delete'
          ? { to: '/people', notice: 'person_deleted' }
          : { to: pathTo('people', sub), notice: `person_${name === 'end' ? 'ended' : `${name}d`}` }
      },
    ),
  ]
}

/** A button of a row on the page of a person. */
const rowForm = (path: string, notice: string, act: (call: Call, sub: string) => Promise<unknown>) =>
  defineForm({ path: `/people/{sub}${path}`, permission: 'people.support', section: 'people' }, async (call) => {
    const sub = subOf(call)
    await act(call, sub)
    return { to: pathTo('people', sub), notice }
  })

export const peopleForms = [
  defineForm(
    {
      ...{ path: '/people/{sub}/edit', permission: 'people.write', section: 'people' },
      input: z.strictObject({
        etag: z.string().max(64),
        username: z.string().max(255),
        claims: z.string().max(30_000).default('{}'),
      }),
    },
    async (call) => {
      const { parts, by, input } = call
      const sub = subOf(call)
      const { person } = unlessRefused(await readPerson(parts, by, sub))
      const written = readClaims(input.claims)
      const gone = Object.keys(person.claims).filter((claim) => !Object.hasOwn(written, claim))
      const claims = { ...written, ...Object.fromEntries(gone.map((claim) => [claim, null])) }
      const username = input.username === person.username ? undefined : input.username
      unlessRefused(await patchPerson(parts, by, { sub, ifMatch: input.etag, claims, username }))
      return { to: pathTo('people', sub), notice: 'person_changed' }
    },
  ),
  ...confirmed('disable', 'people.support', async ({ parts, by }, sub) =>
    unlessRefused(await setPersonDisabled(parts, by, { sub, disabled: true })),
  ),
  ...confirmed('enable', 'people.support', async ({ parts, by }, sub) =>
    unlessRefused(await setPersonDisabled(parts, by, { sub, disabled: false })),
  ),
  ...confirmed('end', 'people.support', ({ parts, by, input }, sub) =>
    endPerson(parts, by, { sub, removeFactors: input.factors !== undefined }),
  ),
  ...confirmed('delete', 'people.write', async ({ parts, by, input }, sub) =>
    unlessRefused(await removeAccount(parts, by, { sub, ifMatch: input.etag })),
  ),
  rowForm('/sessions/{sid}/end', 'session_ended', async ({ parts, by, path }, sub) =>
    unlessRefused(await endSessions(parts, by, { sub, sid: path('sid') })),
  ),
  rowForm('/grants/{grant_id}/end', 'grant_ended', async ({ parts, by, path }, sub) =>
    unlessRefused(await revokeGrantOf(parts, by, { sub, grant_id: path('grant_id') })),
  ),
  rowForm('/consents/{client_id}/end', 'consent_removed', async ({ parts, by, path }, sub) =>
    unlessRefused(await revokeConsents(parts, by, { sub, client_id: path('client_id') })),
  ),
  rowForm('/factors/{id}/remove', 'factor_removed', async ({ parts, by, path }, sub) =>
    unlessRefused(await removeFactor(parts, by, { who: { sub }, factor: path('id') })),
  ),
  definePage({ path: '/people/{sub}/recover', permission: 'people.support', section: 'people' }, async (call) => {
    const { parts, by, texts } = call
    const { person } = unlessRefused(await readPerson(parts, by, subOf(call)))
    const at = pathTo('people', person.sub)
    return {
      view: 'confirm',
      title: texts.text('person.recover.title', { name: nameOf(person) }),
      data: {
        crumb: { href: at, title: nameOf(person) },
        consequences: [1, 2, 3].map((number) => texts.text(`person.recover.consequence.${String(number)}`)),
        ...{ action: `${at}/recover`, cancel: at, button: texts.text('person.recover') },
      },
    }
  }),
  defineForm({ path: '/people/{sub}/recover', permission: 'people.support', section: 'people' }, async (call) => {
    const { parts, by, texts } = call
    const sub = subOf(call)
    const { link, expiresAt } = unlessRefused(await issueRecoveryLink(parts, by, { who: { sub }, expiresIn: 900 }))
    return {
      view: 'secret',
      title: texts.text('person.recover.link'),
      data: {
        secrets: [[texts.text('person.recover.address'), link]],
        sections: [{ facts: [[texts.text('registrations.expires'), timeCell(texts, expiresAt)]] }],
        done: pathTo('people', sub),
      },
    }
  }),
]
