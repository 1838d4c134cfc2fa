import { describe, expect, it, beforeAll } from 'vitest'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { startOperatorServer, type AskApi, type OperatorServer } from '../support/server/operator-server.js'
import { alive, openAll, over, stateOf, withEverything } from '../support/server/opened.js'
import { person, subject } from '../support/server/server.js'

const keep = disposeAfterAll()
let server: OperatorServer
let operator: AskApi
let support: AskApi
beforeAll(async () => {
  server = keep(
    await startOperatorServer({
      configure: (written) => {
        const all = withEverything(written)
        return { ...all, audit: { ...(all['audit'] as object), reads: true } }
      },
    }),
  )
  operator = await server.as('operator')
  support = await server.as('support')
})

const password = 'correct horse battery staple'
const add = (username: string, more: object = {}) =>
  operator('/people', { method: 'POST', body: { username, sub: `${username}-1`, password, ...more } })
const patch = async (sub: string, body: object, tag?: string) => {
  const etag = tag ?? (await operator(`/people/${sub}`)).headers.get('etag') ?? ''
  return operator(`/people/${sub}`, { method: 'PATCH', body, headers: { 'If-Match': etag } })
}
const post = (ask: AskApi, path: string, body?: object) =>
  ask(path, { method: 'POST', ...(body !== undefined && { body }) })
const events = async (action: string) =>
  (await server.audit()).filter((line) => line.event === 'administration' && line.action === action)

describe('people in the admin API', () => {
  it('are created as `accounts add` does, read, and refused for the same reasons', async () => {
    const created = await add('bob', { claims: { name: 'Bob', secret_rank: 1 } })
    expect(created).toMatchObject({ status: 201, body: { sub: 'bob-1', username: 'bob' } })
    expect(created.body.warnings).toContainEqual(expect.objectContaining({ claim: 'secret_rank' }))
    expect(created.headers.get('location')).toBe('/api/v1/people/bob-1')
    const read = await support('/people/bob-1')
    expect(read).toMatchObject({
      status: 200,
      body: { sub: 'bob-1', username: 'bob', source: 'store', disabled: false, claims: { name: 'Bob' } },
    })
    expect(JSON.stringify(read.body)).not.toContain('argon2')
    expect(read.headers.get('etag')).toBe(created.headers.get('etag'))
    const refused = [
      [{ username: 'BOB', password }, 409, 'username_taken'],
      [{ username: 'bert', sub: 'bob-1', password }, 409, 'subject_taken'],
      [{ username: 'alice', password }, 409, 'configured'],
      [{ username: 'bert', sub: 'web', password }, 409, 'client'],
      [{ username: 'bert', password: 'short' }, 400, 'invalid'],
      [{ username: 'a\u202eb', password }, 400, 'invalid'],
      [{ username: 'bert', sub: 'with blank', password }, 400, 'invalid'],
      [{ username: 'bert', password, claims: { sub: 'x' } }, 400, 'invalid_request'],
      [{ username: 'bert', password, disabled: true }, 400, 'invalid_request'],
    ] as const
    for (const [body, status, code] of refused)
      expect(await post(operator, '/people', body)).toMatchObject({ status, body: { code } })
  })

  it('can be created without a password, and set one up with a recovery link', async () => {
    expect((await add('nopass', { password: undefined })).status).toBe(201)
    const signIn = openAll(server.issuer, { username: 'nopass', password: '' })
    await expect(signIn).rejects.toThrow()
    const issued = await post(support, '/people/nopass-1/recovery_links', {})
    expect(issued).toMatchObject({ status: 201, body: { link: expect.stringContaining('/recovery?link=') } })
    expect((await fetch(issued.body.link)).status).toBe(200)
    const text = JSON.stringify(await server.audit())
    expect(text).toContain(issued.body.recovery)
    expect(text).not.toContain(issued.body.link.split('.').at(-1))
  })

  it('change by a merge patch on condition of the version, and keep what they have opened', async () => {
    await add('carol', { claims: { name: 'Carol', address: { locality: 'Bern', country: 'CH' }, phone_number: '+41' } })
    const opened = await openAll(server.issuer, { username: 'carol', password })
    const etag = (await operator('/people/carol-1')).headers.get('etag')!
    const body = { claims: { address: { locality: 'Basel' }, phone_number: null }, username: 'caroline' }
    expect(await operator('/people/carol-1', { method: 'PATCH', body })).toMatchObject({ status: 428 })
    const changed = await patch('carol-1', body, etag)
    expect(changed).toMatchObject({ status: 200, body: { username: 'caroline' } })
    expect(await patch('carol-1', { claims: { name: 'No' } }, etag)).toMatchObject({
      ...{ status: 412, body: { code: 'changed_meanwhile' } },
    })
    const read = await operator('/people/carol-1')
    expect(read.body).toMatchObject({
      username: 'caroline',
      claims: { name: 'Carol', address: { locality: 'Basel', country: 'CH' } },
    })
    expect(read.body.claims).not.toHaveProperty('phone_number')
    expect(read.headers.get('etag')).toBe(changed.headers.get('etag'))
    expect(await stateOf(server.issuer, opened)).toEqual(alive)
    expect(await patch('carol-1', {})).toMatchObject({ status: 400, body: { code: 'empty' } })
    expect(await patch('carol-1', { username: 'alice' })).toMatchObject({ status: 409, body: { code: 'taken' } })
    const [update] = await events('account.update')
    expect(update).toMatchObject({ sub: 'carol-1', claims: ['address', 'phone_number'], new_username: 'caroline' })
    expect(JSON.stringify(update)).not.toContain('Basel')
  })

  it('AD21 lets one of several concurrent changes of one version pass', async () => {
    await add('race')
    const etag = (await operator('/people/race-1')).headers.get('etag')!
    const all = await Promise.all(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => patch('race-1', { claims: { name } }, etag)),
    )
    expect(all.map(({ status }) => status).toSorted()).toEqual([200, 412, 412, 412, 412, 412])
    const others = (await operator('/people/bob-1')).headers.get('etag')!
    for (const tag of ['*', others, `W/${others}`, 'x']) {
      expect((await patch('race-1', { claims: { name: 'x' } }, tag)).status).toBe(412)
      const removed = await operator('/people/race-1', { method: 'DELETE', headers: { 'If-Match': tag } })
      expect(removed.status).toBe(412)
    }
    expect((await operator('/people/race-1', { method: 'DELETE' })).status).toBe(428)
    expect((await operator('/people/race-1')).status).toBe(200)
  })

  it('are disabled at once, also those of the configuration, by a help desk without `people.write`', async () => {
    const opened = await openAll(server.issuer, person)
    expect(await post(support, `/people/${subject}/disable`)).toMatchObject({ status: 200, body: { sub: subject } })
    expect((await support(`/people/${subject}`)).body).toMatchObject({ disabled: true, source: 'configuration' })
    expect(await stateOf(server.issuer, opened)).toEqual(over)
    await expect(openAll(server.issuer, person)).rejects.toThrow()
    expect((await patch(subject, { claims: { name: 'A' } })).body.code).toBe('configured')
    expect(await patch(subject, { disabled: false })).toMatchObject({ status: 200 })
    expect((await openAll(server.issuer, person)).accessToken).toEqual(expect.any(String))
    expect(await support(`/people/${subject}`, { method: 'PATCH', body: { disabled: true } })).toMatchObject({
      ...{ status: 403, body: { code: 'access_denied' } },
    })
  })

  it('are listed page by page over all sources, with cursors of that list', async () => {
    for (const name of ['list-a', 'list-b', 'list-c']) await add(name)
    const seen: { sub: string; source: string }[] = []
    let cursor = ''
    do {
      const { body } = await support(`/people?limit=2${cursor}`)
      seen.push(...body.items)
      cursor = body.next_cursor === undefined ? '' : `&cursor=${body.next_cursor}`
    } while (cursor !== '')
    expect(new Set(seen.map(({ sub }) => sub)).size).toBe(seen.length)
    expect(seen[0]).toMatchObject({ sub: subject, source: 'configuration' })
    expect(seen.map(({ sub }) => sub)).toEqual(expect.arrayContaining(['list-a-1', 'list-b-1', 'list-c-1']))
    const { body } = await support('/people?source=store&limit=1')
    expect(body.items).toMatchObject([{ source: 'store' }])
    expect(await support(`/people?cursor=${body.next_cursor}`)).toMatchObject({
      ...{ status: 400, body: { code: 'invalid_cursor' } },
    })
  })

  it('show what they have opened, and each of it can be ended', async () => {
    await add('dora')
    const who = { username: 'dora', password }
    const [one, other] = [await openAll(server.issuer, who), await openAll(server.issuer, who)]
    const { body: sessions } = await support('/people/dora-1/sessions?limit=1')
    expect(sessions.items).toMatchObject([{ sid: expect.any(String), amr: ['pwd'] }])
    const rest = await support(`/people/dora-1/sessions?limit=1&cursor=${sessions.next_cursor}`)
    expect(rest.body.items).toHaveLength(1)
    expect(rest.body.next_cursor).toBeUndefined()
    expect(await support(`/people/bob-1/sessions?cursor=${sessions.next_cursor}`)).toMatchObject({ status: 400 })
    const sid = sessions.items[0].sid
    expect(await support(`/people/dora-1/sessions/${sid}`, { method: 'DELETE' })).toMatchObject({ status: 204 })
    expect(await support(`/people/dora-1/sessions/${sid}`, { method: 'DELETE' })).toMatchObject({ status: 404 })
    expect((await support('/people/dora-1/sessions', { method: 'DELETE' })).body.sessions).toHaveLength(1)

    const { body: grants } = await support('/people/dora-1/grants')
    expect(grants.items.length).toBeGreaterThan(2)
    const [{ grant_id }] = grants.items
    expect((await support(`/people/bob-1/grants/${grant_id}`, { method: 'DELETE' })).status).toBe(404)
    expect((await support(`/people/dora-1/grants/${grant_id}`, { method: 'DELETE' })).status).toBe(204)
    const revoked = await support('/people/dora-1/grants?client_id=web', { method: 'DELETE' })
    expect(revoked.body.grants.length).toBeGreaterThan(0)
    for (const opened of [one, other])
      expect(await stateOf(server.issuer, opened)).toMatchObject({
        session: 'login_required',
        refresh: 'invalid_grant',
      })

    const { body: consents } = await support('/people/dora-1/consents')
    expect(consents.items.map(({ client_id }: { client_id: string }) => client_id)).toContain('web')
    expect((await support('/people/dora-1/consents/web', { method: 'DELETE' })).status).toBe(204)
    expect((await support('/people/dora-1/consents/web', { method: 'DELETE' })).status).toBe(404)
    expect(await support('/people/dora-1/factors')).toMatchObject({ status: 200, body: { items: [] } })
    expect((await support('/people/dora-1/factors/totp', { method: 'DELETE' })).status).toBe(404)
    expect(await support('/people/dora-1/devices')).toMatchObject({ status: 200, body: { items: [] } })
    expect((await support('/people/dora-1/devices/none', { method: 'DELETE' })).status).toBe(404)
  })

  it('AD22 keep what the path names by the wrong person', async () => {
    await add('ines')
    const opened = await openAll(server.issuer, { username: 'ines', password })
    const first = async (name: string) => (await support(`/people/ines-1/${name}`)).body.items[0]
    const { sid } = await first('sessions')
    const { grant_id } = await first('grants')
    for (const path of [`sessions/${sid}`, `grants/${grant_id}`, 'consents/none', 'factors/totp', `devices/${sid}`])
      expect(await support(`/people/bob-1/${path}`, { method: 'DELETE' })).toMatchObject({
        ...{ status: 404, body: { code: expect.stringMatching(/^(unknown|factor)$/) } },
      })
    expect(await stateOf(server.issuer, opened)).toEqual(alive)
  })

  it('end with everything, get another password, and are deleted', async () => {
    await add('eve')
    const opened = await openAll(server.issuer, { username: 'eve', password })
    expect(await post(support, '/people/eve-1/end', { factors: true })).toMatchObject({
      ...{ status: 200, body: { known: true, sessions: 1, factors_state: 'removed' } },
    })
    expect(await stateOf(server.issuer, opened)).toEqual(over)
    const next = 'four other words altogether'
    expect((await post(support, '/people/eve-1/password', { password: next })).status).toBe(403)
    expect((await post(operator, '/people/eve-1/password', { password: 'eve' })).body.code).toBe('invalid')
    expect((await post(operator, '/people/eve-1/password', { password: next })).status).toBe(200)
    await expect(openAll(server.issuer, { username: 'eve', password })).rejects.toThrow()
    const again = await openAll(server.issuer, { username: 'eve', password: next })
    const etag = (await operator('/people/eve-1')).headers.get('etag')!
    await patch('eve-1', { claims: { name: 'Eve' } })
    const remove = (tag: string) => operator('/people/eve-1', { method: 'DELETE', headers: { 'If-Match': tag } })
    expect((await remove(etag)).status).toBe(412)
    expect((await openAll(server.issuer, { username: 'eve', password: next })).accessToken).toEqual(expect.any(String))
    expect((await remove((await operator('/people/eve-1')).headers.get('etag')!)).status).toBe(204)
    expect((await operator('/people/eve-1')).status).toBe(404)
    expect(await stateOf(server.issuer, again)).toEqual(over)
  })

  it('are exported with everything but secrets, and erased with all of it', async () => {
    await add('finn', { claims: { name: 'Finn' } })
    const opened = await openAll(server.issuer, { username: 'finn', password })
    expect((await support('/people/finn-1/export')).status).toBe(403)
    const { status, body } = await operator('/people/finn-1/export')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      sub: 'finn-1',
      account: { username: 'finn', claims: { name: 'Finn' } },
      sessions: [{ amr: ['pwd'] }],
      audit_complete: true,
    })
    expect(body.audit).toContainEqual(expect.objectContaining({ event: 'login.succeeded', sub: 'finn-1' }))
    expect(body.audit.every((line: object) => JSON.stringify(line).includes('finn'))).toBe(true)
    expect(JSON.stringify(body)).not.toMatch(/argon2|signet-session/)

    const erased = await post(operator, '/people/finn-1/erase')
    expect(erased).toMatchObject({ status: 200, body: { account: 'store', sessions: 1 } })
    expect(await stateOf(server.issuer, opened)).toEqual(over)
    for (const name of ['sessions', 'grants', 'consents', 'factors', 'devices'])
      expect((await operator(`/people/finn-1/${name}`)).body.items).toEqual([])
    expect((await operator('/people/finn-1/export')).status).toBe(404)
    expect((await post(operator, '/people/finn-1/erase')).status).toBe(404)
    expect((await post(operator, `/people/${subject}/erase`)).body.code).toBe('configured')
    const [line] = await events('person.erase')
    expect(line).toMatchObject({ sub: 'finn-1', erased: { account: 'store' }, by: { operator: 'operator' } })
  })

  it('with `audit.reads`, the audit log has who has read the data of whom', async () => {
    await add('gina')
    await support('/people/gina-1')
    await support('/people/gina-1/sessions')
    await support('/people?source=store&limit=200')
    const reads = (await server.audit()).filter(({ event }) => event === 'administration.read')
    const by = expect.objectContaining({ operator: 'support', via: 'api' })
    for (const action of ['person.read', 'session.list'])
      expect(reads).toContainEqual(expect.objectContaining({ action, sub: 'gina-1', by }))
    const lists = reads.filter(({ action, subs }) => action === 'person.list' && (subs as string[]).includes('gina-1'))
    expect(lists.length).toBeGreaterThan(0)
  })

  it('AD20 refuses members that no schema names, and subjects that nobody can have', async () => {
    await add('hugo')
    for (const body of [
      { password_hash: '$argon2id$' },
      { sub: 'alice' },
      { claims: { sub: 'alice' } },
      { claims: null },
      { disabled: 'yes' },
    ])
      expect(await patch('hugo-1', body)).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    const raw = '{"claims":{"__proto__":{"disabled":true},"constructor":{"a":1}}}'
    const etag = (await operator('/people/hugo-1')).headers.get('etag')!
    const token = await server.issueToken('raw', ['operator'])
    const sent = await fetch(`${server.admin}/api/v1/people/hugo-1`, {
      ...{ method: 'PATCH', body: raw },
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'If-Match': etag },
    })
    expect(sent.status).toBeLessThan(500)
    expect((await operator('/people/hugo-1')).body.disabled).toBe(false)
    for (const sub of ['%00', 'a%20b', 'x'.repeat(600), '%F0%9F%98%80'])
      for (const path of ['', '/sessions', '/export', '/factors'])
        expect([400, 404], `${sub}${path}`).toContain((await operator(`/people/${sub}${path}`)).status)
    for (const sub of ['%00', 'a%20b', 'x'.repeat(600)])
      expect((await operator(`/people/${sub}/sessions`)).status).toBe(404)
  })
})
