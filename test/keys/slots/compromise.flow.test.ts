import { expect, it } from 'vitest'
import { authorizeUrl } from '../../support/forge/mint.js'
import { UserAgent } from '../../support/clients/user-agent.js'
import { webClient } from '../../support/server/server.js'
import { openTestRecords } from '../../support/stores/test-stores.js'
import { hour, kidOfToken, look, prepareRotation, refresh, signIn, slotsIn } from './rotation.js'

const never = new AbortController().signal

it('KR90 the withdrawal of a compromised key ends the sessions and grants of its time, and none since', async () => {
  const { start, time } = await prepareRotation(slotsIn('local'))
  await using server = await start()
  await look(time, server)
  const browsers = { before: new UserAgent(), since: new UserAgent() }
  const before = await signIn(server, webClient, browsers.before)
  expect(kidOfToken(before.access_token)).toBe('es-1')
  const userinfo = (token: string) =>
    fetch(`${server.issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` } })
  expect((await userinfo(before.access_token)).status).toBe(200)

  {
    await using store = await openTestRecords(`${server.directory}/store`, () => time.now)
    await store.records<object>('key_slots').update('es', (record) => ({
      result: undefined,
      write: { record: { ...record, request: { at: time.now, compromised: 'es-1' } } },
    }))
  }
  for (let passed = 0; passed < 3; passed++) {
    await look(time, server)
    time.now += hour / 2
  }
  await look(time, server)
  expect(await server.kids()).not.toContain('es-1')
  expect((await userinfo(before.access_token)).status).toBe(401)
  const since = await signIn(server, webClient, browsers.since)

  await server.endSignatures(never)
  expect((await refresh(server, webClient, before.refresh_token)).status).toBe(400)
  const silent = (browser: UserAgent) => browser.follow(authorizeUrl(server.issuer, { prompt: 'none' }))
  expect((await silent(browsers.before)).left?.searchParams.get('error')).toBe('login_required')
  expect((await silent(browsers.since)).left?.searchParams.get('code')).toBeTruthy()
  expect((await refresh(server, webClient, since.refresh_token)).status).toBe(200)
  const lines = await server.audit()
  expect(lines.filter(({ event }) => event === 'subject.ended')).toMatchObject([{ kid: 'es-1' }])
  expect(lines.filter(({ event }) => event === 'slot.signatures_ended')).toMatchObject([
    { slot: 'es', kid: 'es-1', people: 1, attestations: 0 },
  ])
})
