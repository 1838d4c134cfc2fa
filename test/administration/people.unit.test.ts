import { describe, expect, it } from 'vitest'
import { setAccountDisabled } from '../../core/administration/account-changes.js'
import { listConsents, revokeConsents } from '../../core/administration/consents.js'
import { revokeGrant, revokeGrantsOf } from '../../core/administration/grants.js'
import { findPersonBehind, findSubjectSeenBy } from '../../core/administration/pairwise-people.js'
import { endPerson } from '../../core/administration/people.js'
import { issueRecoveryLink } from '../../core/administration/recovery.js'
import { endAllSessions, endSessions, endSessionsAt, listSessions } from '../../core/administration/sessions.js'
import type { Collections } from '../../core/collections/collections.js'
import { sessionEntryId } from '../../core/interaction/session.js'
import { signInOf } from '../../core/oauth/subjects/subject-end.js'
import { openTestAdministration, operator, testNow } from '../support/administration.js'

const now = testNow / 1000

/** A session that began so many seconds after the time of the administration. */
const addSession = async ({ sessions, sessionIndex }: Collections, sid: string, after: number): Promise<void> => {
  const entry = { sid, subject: 'p-1', authTime: now + after, amr: ['pwd'], key: `key-${sid}` }
  const session = { ...entry, interactionId: 'i', expiresAt: now + 3600 }
  await sessions.put(entry.key, session, { ttlSeconds: 3600 })
  await sessionIndex.put(sessionEntryId(entry), entry, { ttlSeconds: 3600 })
}

describe.each([
  ['of a command, which have no shares', false],
  ['of a service, which have shares', true],
])('on stores %s', (_, shared) => {
  it('ends all sessions of everyone, by its own clock', async () => {
    const { administration, stored } = await openTestAdministration({ shared })
    await addSession(stored, 'before', -1)
    await addSession(stored, 'after', 1)
    expect(await endAllSessions(administration, operator)).toEqual({ people: 1, sessions: 1 })
    expect((await listSessions(administration, 'p-1')).map(({ sid }) => sid)).toEqual(['after'])
  })

  it('ends a session once, and does not reveal its storage key', async () => {
    const { administration, stored, events } = await openTestAdministration({ shared })
    await addSession(stored, 'one', -1)
    const [listed] = await listSessions(administration, 'p-1')
    expect(listed).toMatchObject({ sid: 'one', authTime: now - 1 })
    expect(listed).not.toHaveProperty('key')
    expect(await endSessions(administration, operator, { sub: 'p-1' })).toEqual({ sids: ['one'] })
    expect(await endSessions(administration, operator, { sub: 'p-1' })).toEqual({ refused: 'unknown' })
    expect(events.map(({ event }) => event)).toEqual([
      ...['administration.begun', 'administration', 'administration.begun'],
    ])
  })

  it('ends everything of a person by its own clock, even of an unknown person', async () => {
    const { administration, stored, events } = await openTestAdministration({ shared })
    await addSession(stored, 'one', -1)
    const end = () => endPerson(administration, operator, { sub: 'p-1', removeFactors: true })
    expect(await end()).toMatchObject({ isKnown: true, sessions: 1 })
    const isOver = (authTime: number) => stored.revocations.isRevoked([], signInOf('p-1', authTime))
    expect([await isOver(now), await isOver(now + 1)]).toEqual([true, false])
    await addSession(stored, 'next', 1)
    expect(await listSessions(administration, 'p-1')).toHaveLength(1)
    await endSessions(administration, operator, { sub: 'p-1' })
    expect(await end()).toMatchObject({ isKnown: false, sessions: 0 })
    expect(events.filter(({ action, event }) => action === 'person.end' && event === 'administration')).toHaveLength(2)
  })
})

it('frees the quota of the sessions that it ends', async () => {
  const { administration, stored } = await openTestAdministration({ shared: true })
  const share = administration.stores.shares?.sessions
  await addSession(stored, 'one', -1)
  expect(share?.read().bytes).toBeGreaterThan(0)
  await endSessions(administration, operator, { sub: 'p-1' })
  expect(share?.read().bytes).toBe(0)
})

it('refuses to notify a client that has no address for it', async () => {
  const { administration } = await openTestAdministration()
  expect(await endSessionsAt(administration, operator, 'shop')).toEqual({ refused: 'no_logout_uri' })
})

it('revokes a grant without a known person, and refuses a malformed grant id', async () => {
  const { administration, stored, events } = await openTestAdministration()
  expect(await revokeGrant(administration, operator, 'no id')).toEqual({ refused: 'malformed' })
  expect(events).toEqual([])
  expect(await revokeGrant(administration, operator, 'g-1')).toEqual({ isKnown: false })
  expect(await stored.revocations.isRevoked(['g-1'])).toBe(true)
  expect(await revokeGrantsOf(administration, operator, { sub: 'p-1' })).toEqual({ grants: [] })
  expect(events.filter(({ event }) => event === 'administration')).toHaveLength(2)
})

it('refuses to revoke consents that do not exist', async () => {
  const { administration } = await openTestAdministration()
  expect(await listConsents(administration, 'p-1')).toEqual([])
  expect(await revokeConsents(administration, operator, { sub: 'p-1' })).toEqual({ refused: 'unknown' })
})

const accounts = 'accounts: [{ username: alice, password: correct horse battery staple, sub: a-1 }]'

it('issues a recovery link whose lifetime follows its own clock', async () => {
  const { administration, stored } = await openTestAdministration()
  const issued = await issueRecoveryLink(administration, operator, { who: { sub: 'p-1' }, expiresIn: 900 })
  if ('refused' in issued) throw new Error(issued.refused)
  expect(issued.expiresAt).toBe(testNow + 900_000)
  const [link] = await stored.recoveryLinks.list(undefined, 10)
  expect(link?.record).toMatchObject({ subject: 'p-1', id: issued.recovery, issuedAt: now })
  expect(JSON.stringify(link)).not.toContain(new URL(issued.link).searchParams.get('link')?.split('.')[1])
})

it.each([
  ['off', 'account_page: false', { sub: 'p-1' }, 900],
  ['too_long', '', { sub: 'p-1' }, 86_401],
  ['unknown', '', { username: 'dave' }, 900],
  ['disabled', accounts, { username: 'alice' }, 900],
])('refuses a recovery link as %s', async (refused, extra, who, expiresIn) => {
  const { administration, stored } = await openTestAdministration({ extra })
  await setAccountDisabled(administration, operator, { username: 'alice', disabled: true })
  const input = { who: who as { readonly sub: string }, expiresIn }
  expect(await issueRecoveryLink(administration, operator, input)).toEqual({ refused })
  expect(await stored.recoveryLinks.list(undefined, 10)).toEqual([])
})

const clients = (key: string) => `${key}
clients: [{ client_id: shop, redirect_uris: [https://shop.example/cb], subject_type: pairwise, client_secret: 0123456789abcdef0123456789abcdef }]`

it('records a search for a person by a pairwise subject, found or not', async () => {
  const extra = `${clients(`pairwise_key: ${'k'.repeat(43)}`)}\n${accounts}`
  const { administration, events } = await openTestAdministration({ extra })
  const seen = await findSubjectSeenBy(administration, { client_id: 'shop', sub: 'a-1' })
  if ('refused' in seen) throw new Error(seen.refused)
  expect(await findPersonBehind(administration, operator, seen)).toEqual({ sub: 'a-1', username: 'alice' })
  const other = { client_id: 'shop', sub: 'nobody' }
  expect(await findPersonBehind(administration, operator, other)).toEqual({ refused: 'unknown' })
  expect(events.map(({ event }) => event)).toEqual([
    ...['administration.begun', 'administration', 'administration.begun', 'administration'],
  ])
})

it.each([
  ['unknown_client', 'none', ''],
  ['no_key', 'shop', clients('')],
])('refuses a pairwise subject as %s', async (refused, client_id, extra) => {
  const { administration, events } = await openTestAdministration({ extra })
  const person = { client_id, sub: 'a-1' }
  expect(await findSubjectSeenBy(administration, person)).toEqual({ refused })
  expect(await findPersonBehind(administration, operator, person)).toEqual({ refused })
  expect(events.map(({ event }) => event)).toEqual(['administration.begun'])
})
