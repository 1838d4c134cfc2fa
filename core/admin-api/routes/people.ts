import { z } from 'zod'
import { addAccount, isSubject, removeAccount } from '../../administration/account-changes.js'
import { patchPerson } from '../../administration/person-changes.js'
import { readPerson } from '../../administration/person-pages.js'
import { defineApiRoute, type ApiCall } from '../api-route.js'
import { listOf, listQuery, searchQuery } from '../lists.js'
import { readPeople } from '../searched-lists.js'
import { describePerson, personSources, shownPerson } from '../people-documents.js'
import { Problem, unlessRefused } from '../problem.js'

/** Returns the subject of the path. Throws `Problem` for a text that no person can have as subject. */
export const subOf = ({ path }: Pick<ApiCall<never, never>, 'path'>): string => {
  const sub = path('sub')
  if (!isSubject(sub)) throw new Problem(404, 'unknown', 'There is no such object.')
  return sub
}

const claimNames = z.string().min(1).max(128)

const isWithoutSub = (claims: object): boolean => !Object.hasOwn(claims, 'sub')
const subRule = 'the subject is not a claim: it never changes'

const claims = z.record(claimNames, z.json()).refine(isWithoutSub, subRule)

const written = z.object({
  sub: z.string(),
  username: z.string(),
  warnings: z.array(z.object({ claim: z.string(), message: z.string() })).describe('Claims that no client receives.'),
})

/** The longest texts that are read; `core/interaction` says what a username and a password may be. */
const username = z.string().min(1).max(256)
export const password = z.string().min(1).max(1024)

const tag = 'People'
const path = '/people/{sub}'

export const peopleRoutes = [
  defineApiRoute(
    {
      ...{ path: '/people', method: 'GET', permission: 'people.read', operation: 'listPeople', tag },
      summary: 'Lists people: those of the configuration, those of the store by username, those who sign in elsewhere.',
      query: z.strictObject({ ...listQuery, ...searchQuery, source: z.enum(personSources).optional() }),
      output: listOf(shownPerson),
    },
    async ({ query, parts, by }) => {
      const { items, ...next } = await readPeople(parts, by, query)
      return { data: { items: items.map(describePerson), ...next } }
    },
  ),
  defineApiRoute(
    {
      ...{ path: '/people', method: 'POST', permission: 'people.write', operation: 'createPerson', tag },
      summary: 'Creates an account in the store. Without a password, a recovery link lets its person set one up.',
      body: z.strictObject({
        username,
        password: password.optional(),
        sub: z.string().optional().describe('The default is a random UUID.'),
        claims: claims.default({}),
      }),
      ...{ output: written, status: 201, idempotent: true },
    },
    async ({ parts, by, body }) => {
      const added = unlessRefused(await addAccount(parts, by, { ...body, hasher: parts.passwords }))
      const { etag } = unlessRefused(await readPerson(parts, by, added.sub))
      return {
        data: { ...added, warnings: [...added.warnings] },
        etag,
        location: `/people/${encodeURIComponent(added.sub)}`,
      }
    },
  ),
  defineApiRoute(
    {
      ...{ path, method: 'GET', permission: 'people.read', operation: 'readPerson', tag },
      summary: 'Reads the account of a person.',
      output: shownPerson,
    },
    async (call) => {
      const { person, etag } = unlessRefused(await readPerson(call.parts, call.by, subOf(call)))
      return { data: describePerson(person), etag }
    },
  ),
  defineApiRoute(
    {
      ...{ path, method: 'PATCH', permission: 'people.write', operation: 'updatePerson', tag },
      summary:
        'Changes the account of a person (RFC 7396). Only `disabled` ends what the person has opened; it is all that can change of an account of the configuration.',
      body: z.strictObject({
        claims: claims.optional(),
        username: username.optional(),
        disabled: z.boolean().optional(),
      }),
      ...{ output: written, conditional: true },
    },
    async (call) => {
      const { parts, by, body, ifMatch } = call
      const sub = subOf(call)
      const changed = unlessRefused(await patchPerson(parts, by, { sub, ifMatch, ...body }))
      const { etag } = unlessRefused(await readPerson(parts, by, sub))
      return { data: { ...changed, warnings: [...changed.warnings] }, etag }
    },
  ),
  defineApiRoute(
    {
      ...{ path, method: 'DELETE', permission: 'people.write', operation: 'deletePerson', tag },
      summary: 'Deletes the account of a person, and with it sessions, tokens and factors.',
      conditional: true,
    },
    async (call) => {
      const { parts, by, ifMatch } = call
      unlessRefused(await removeAccount(parts, by, { sub: subOf(call), ifMatch }))
      return { data: undefined }
    },
  ),
]
