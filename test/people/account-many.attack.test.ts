import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { createPrincipalRegistry } from '../../core/attestation/principal-registry.js'
import { epochSeconds } from '../../core/clock.js'
import { sessionEntryId } from '../../core/interaction/session.js'
import { hashOpaqueToken, newOpaqueToken } from '../../core/opaque-token.js'
import { doublePlugin } from '../support/clients/attestation.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { collectionsOf } from '../support/forge/mint.js'
import { putGrants, readSection, visitAccount, type AccountVisitor } from '../support/server/account-visitor.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'
import { openTestRecords } from '../support/stores/test-stores.js'

describe('/account of a person with many entries', () => {
  const keep = disposeAfterAll()
  let server: TestServer
  beforeAll(async () => {
    server = keep(
      await startServer({
        configure: (written) => {
          const more = [doublePlugin({ name: 'account-many' }), { use: 'plugins/attestation/registry' }]
          return { ...written, attestation: {}, plugins: [...(written['plugins'] as object[]), ...more] }
        },
      }),
    )
  })

  const enter = async (): Promise<AccountVisitor> => {
    const visitor = visitAccount(server.issuer)
    await visitor.signIn(person)
    return visitor
  }
  /** What the pages of a section have in this field, page by page. */
  const turnPages = async (visitor: AccountVisitor, name: string, field: string): Promise<readonly string[][]> => {
    const seen: string[][] = []
    for (let next = '/account'; next !== '';) {
      const section = readSection((await visitor.page(next)).html, name)
      seen.push(section.values(field))
      next = section.next
    }
    return seen
  }

  it('AC16 shows 50 sessions at a time, and each of them on one page', async () => {
    const here = await enter()
    const store = await openTestRecords(join(server.directory, 'store'), Date.now)
    const { sessions, sessionIndex } = collectionsOf(store)
    const authTime = epochSeconds(Date.now)
    const sids = Array.from({ length: 120 }, () => newOpaqueToken())
    const puts = sids.flatMap((sid, index) => {
      const session = { sid, subject, authTime, amr: ['pwd'], interactionId: 'x' }
      const entry = { ...session, key: hashOpaqueToken(sid) }
      // Every tenth is over, as where the store of sessions has lost it.
      const isLost = index % 10 === 0
      return [...(isLost ? [] : [sessions.put(entry.key, session)]), sessionIndex.put(sessionEntryId(entry), entry)]
    })
    await Promise.all(puts)
    await store[Symbol.asyncDispose]()
    const seen = await turnPages(here, 'sessions', 'sid')
    expect(seen.map(({ length }) => length).every((length) => length <= 50)).toBe(true)
    expect(seen.length).toBeLessThan(5)
    const listed = seen.flat()
    expect(new Set(listed).size).toBe(listed.length)
    expect(sids.filter((sid, index) => index % 10 !== 0 && !listed.includes(sid))).toEqual([])
    await here.send('sessions', { action: 'end_others' })
    expect((await here.section('sessions')).values('sid')).toEqual([])
  })

  it('AC16 shows 50 applications at a time, and each of them on one page, whatever has been revoked', async () => {
    const here = await enter()
    const clients = Array.from({ length: 120 }, (_, index) => `client-${String(index)}`)
    await putGrants(server.directory, [...clients, ...clients], subject)
    const seen = await turnPages(here, 'applications', 'client_id')
    expect(seen.every(({ length }) => length <= 50)).toBe(true)
    expect([...new Set(seen.flat())].toSorted()).toEqual(clients.toSorted())
    await here.send('applications', { action: 'withdraw', client_id: 'client-7' })
    expect((await turnPages(here, 'applications', 'client_id')).flat()).not.toContain('client-7')
  })
  it('AC16 shows 50 devices at a time, and each of them on one page', async () => {
    const here = await enter()
    const store = await openTestRecords(join(server.directory, 'store'), Date.now)
    const registry = createPrincipalRegistry(collectionsOf(store))
    const principals = Array.from({ length: 120 }, (_, index) => ({
      ...{ subject, principalType: 'device' as const, principalId: `device-${String(index)}` },
    }))
    const enrolledAt = epochSeconds(Date.now)
    const enrol = (principal: (typeof principals)[number]) =>
      registry.enrol({ principal, jkt: newOpaqueToken(), attributes: {}, enrolledAt })
    await Promise.all(principals.map(enrol))
    // Every tenth is enrolled no more, every other tenth can renew no more.
    const isGone = (index: number) => index % 10 === 0
    await Promise.all(principals.filter((_, index) => isGone(index)).map((principal) => registry.release(principal)))
    const revoked = principals.filter((_, index) => index % 10 === 1)
    await Promise.all(revoked.map((principal) => registry.revoke({ principal, revokedAt: enrolledAt })))
    await store[Symbol.asyncDispose]()
    const seen: string[] = []
    for (let next = '/account'; next !== '';) {
      const section = readSection((await here.page(next)).html, 'devices')
      expect(section.rows.length).toBeLessThanOrEqual(50)
      seen.push(...section.rows)
      next = section.next
    }
    const listed = principals.filter((_, index) => !isGone(index)).map(({ principalId }) => `${principalId} Device`)
    expect(seen.toSorted()).toEqual(listed.toSorted())
  })
})
