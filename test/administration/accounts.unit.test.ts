import { expect, it } from 'vitest'
import { addAccount, removeAccount, setPassword, updateAccount } from '../../core/administration/account-changes.js'
import { findPerson, listAccounts } from '../../core/administration/accounts.js'
import type { PasswordHasher } from '../../core/interaction/account-directory.js'
import type { JsonObject } from '../../core/json.js'
import { openTestAdministration, operator } from '../support/administration.js'

const hasher: PasswordHasher = {
  isOwn: () => true,
  hash: (password) => Promise.resolve(`hash of ${password}`),
  verify: () => Promise.resolve(false),
}
const password = 'correct horse battery staple'
const bob = { username: 'bob', password, hasher, sub: 'b-1', claims: {} }
const extra = 'accounts: [{ username: alice, password: correct horse battery staple, sub: a-1 }]'

it.each<[string, Partial<typeof bob>]>([
  ['configured', { username: 'ALICE' }],
  ['configured', { username: 'eve', sub: 'a-1' }],
  ['client', { username: 'eve', sub: 'shop' }],
  ['invalid', { username: 'eve', sub: 'two words' }],
  ['invalid', { username: 'eve', sub: 'e-1', password: 'short' }],
  ['username_taken', { username: 'Bob', sub: 'b-2' }],
  ['subject_taken', { username: 'eve', sub: 'b-1' }],
])('refuses an account as %s: %j', async (refused, changed) => {
  const { administration, events, stored } = await openTestAdministration({ extra })
  await stored.clients.put('shop', {} as never)
  expect(await addAccount(administration, operator, bob)).toMatchObject({ username: 'bob', sub: 'b-1' })
  const before = events.length
  expect(await addAccount(administration, operator, { ...bob, ...changed })).toMatchObject({ refused })
  expect(events.slice(before).map(({ event }) => event)).not.toContain('administration')
  expect((await listAccounts(administration, {})).map(({ sub }) => sub)).toEqual(['a-1', 'b-1'])
})

it('reports why an account is not valid without repeating its content', async () => {
  const { administration } = await openTestAdministration()
  const refused = await addAccount(administration, operator, { ...bob, password: 'hunter2' })
  expect(refused).toEqual({ refused: 'invalid', reason: expect.stringMatching(/^The password .+\.$/) })
  expect(JSON.stringify(refused)).not.toContain('hunter2')
})

it('warns about claims that no client receives', async () => {
  const { administration } = await openTestAdministration()
  const claims: JsonObject = { shoe_size: 43, email_verified: 'yes' }
  const { warnings } = (await addAccount(administration, operator, { ...bob, claims })) as never
  expect(warnings).toEqual([
    { claim: 'shoe_size', message: expect.stringContaining('releases this claim') },
    { claim: 'email_verified', message: expect.any(String) },
  ])
})

it('records who made a change, and how that operator reached it', async () => {
  const { administration, events } = await openTestAdministration()
  await addAccount(administration, operator, bob)
  const change = { action: 'account.add', username: 'bob', by: operator }
  expect(events).toEqual([
    { event: 'administration.begun', ...change },
    { event: 'administration', ...change },
  ])
})

it('returns the new account when only the first audit record was written, and reports the gap', async () => {
  const { administration, limitAudit, unrecorded } = await openTestAdministration()
  limitAudit(1)
  expect(await addAccount(administration, operator, bob)).toMatchObject({ sub: 'b-1' })
  expect(unrecorded()).toBe(1)
  await expect(removeAccount(administration, operator, { username: 'bob' })).rejects.toMatchObject({
    component: 'audit',
  })
  expect(await findPerson(administration, { sub: 'b-1' })).toMatchObject({ username: 'bob' })
})

it.each<[string, string, Parameters<typeof updateAccount>[2]['update']]>([
  ['empty', 'bob', { claims: {}, unset: [] }],
  ['both', 'bob', { claims: { a: 1 }, unset: ['a'] }],
  ['configured', 'alice', { claims: { a: 1 }, unset: [] }],
  ['taken', 'bob', { claims: {}, unset: [], username: 'Alice' }],
  ['username_taken', 'bob', { claims: {}, unset: [], username: 'carol' }],
  ['invalid', 'bob', { claims: {}, unset: [], username: 'b\0b' }],
  ['unknown', 'dave', { claims: { a: 1 }, unset: [] }],
])('refuses an update as %s', async (refused, username, update) => {
  const { administration } = await openTestAdministration({ extra })
  await addAccount(administration, operator, bob)
  await addAccount(administration, operator, { ...bob, username: 'carol', sub: 'c-1' })
  expect(await updateAccount(administration, operator, { username, update })).toMatchObject({ refused })
})

it.each([
  ['configured', 'alice', password],
  ['unknown', 'dave', password],
  ['invalid', 'bob', 'short'],
])('refuses a password as %s', async (refused, username, next) => {
  const { administration } = await openTestAdministration({ extra })
  await addAccount(administration, operator, bob)
  const input = { username, password: next, hasher, removeFactors: false }
  expect(await setPassword(administration, operator, input)).toMatchObject({ refused })
})

it.each([
  ['configured', { username: 'alice' }],
  ['configured', { sub: 'a-1' }],
  ['unknown', { username: 'dave' }],
  ['unknown', { sub: 'd-1' }],
])('refuses a removal as %s: %j', async (refused, who) => {
  const { administration } = await openTestAdministration({ extra })
  expect(await removeAccount(administration, operator, who as { readonly sub: string })).toEqual({ refused })
})
