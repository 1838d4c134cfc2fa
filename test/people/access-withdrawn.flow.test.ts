import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { StorageBackend } from '../../core/storage/ports.js'
import { basic } from '../support/clients/clients.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { authorizeUrl, collectionsOf, createMint, verifier } from '../support/forge/mint.js'
import { freePort } from '../support/free-port.js'
import { visitAccount } from '../support/server/account-visitor.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { addPeople } from '../support/server/password-form.js'
import { prepareRestarts, type ReloadServer } from '../support/server/reloading.js'
import { person, redirectUri, subject, webClient } from '../support/server/server.js'
import { openTestRecords } from '../support/stores/test-stores.js'

type Json = Record<string, unknown>
type Person = { readonly username: string; readonly password: string; readonly sub: string }

const other = { ...webClient, client_id: 'other', client_name: 'Other application' }

const people = ['bob', 'carol', 'dave'].map((name) => ({
  ...{ username: name, password: `a password of ${name} alone`, sub: `${name}-1` },
}))
const [bob, carol, dave] = people as [Person, Person, Person]

// Grants as versions without the index of grants have left them: a refresh family, an access token, and a consent at most.

describe('access that no index knows of', () => {
  const keep = disposeAfterAll()
  let cli: CommandLine
  let server: ReloadServer
  /** Where the second replica answers. */
  let there: string
  let store: StorageBackend
  beforeAll(async () => {
    cli = keep(await openCommandLine())
    const deployment = keep(
      await prepareRestarts({
        configure: (written) => ({ ...written, clients: [...(written['clients'] as Json[]), other] }),
      }),
    )
    server = keep(await deployment.start())
    await addPeople(server.directory, ...people)
    const port = await freePort()
    there = `http://127.0.0.1:${port}`
    await deployment.edit((written) => ({ ...written, listen: { host: '127.0.0.1', port } }))
    keep(await deployment.start())
    store = keep(await openTestRecords(join(server.directory, 'store'), Date.now))
  })

  const run = (...args: string[]) => cli.run([...args, '--config', join(server.directory, 'signet.yaml')])
  const post = async (at: string, path: string, form: Record<string, string>, client = webClient) => {
    const headers = { authorization: basic(client) }
    const response = await fetch(at + path, { method: 'POST', headers, body: new URLSearchParams(form) })
    return { status: response.status, ...((await response.json()) as Json) } as Json
  }
  const refresh = (token: string, at = server.issuer, client = webClient) =>
    post(at, '/token', { grant_type: 'refresh_token', refresh_token: token }, client)
  const isActive = async (token: unknown, at = server.issuer) =>
    (await post(at, '/introspect', { token: String(token) }))['active']
  const scope = ['openid', 'email', 'offline_access']
  /** As an earlier version wrote it, and so without an entry. */
  const earlier = async (clientId = 'web', of = subject) => {
    const authentication = { auth_time: Math.floor(Date.now() / 1000) - 60, amr: ['pwd'] }
    const grantId = randomBytes(16).toString('base64url')
    return (await createMint(store).refreshToken({ clientId, subject: of, grantId, scope, authentication })).token
  }
  const listed = async (sub: string) => {
    const { stdout } = await run('grants', 'list', '--sub', sub, '--json')
    return (JSON.parse(stdout) as { client_id: string }[]).map(({ client_id }) => client_id)
  }
  /** A sign-in with consent, and its tokens. */
  const grant = async (agent = new UserAgent()) => {
    const code = (await agent.authorize(authorizeUrl(server.issuer, { scope: scope.join(' ') }), person)).searchParams
    const form = { grant_type: 'authorization_code', code: code.get('code') ?? '', redirect_uri: redirectUri }
    return post(server.issuer, '/token', { ...form, code_verifier: verifier })
  }
  /** Removes the entries of all grants, as though this version had written none. */
  const forget = async () => {
    const { grantIndex } = collectionsOf(store)
    for (const { id } of await grantIndex.list(undefined, 1000)) await grantIndex.remove(id)
  }

  it('ends when the person withdraws it, at every replica, with access tokens; and comes back by a new consent', async () => {
    const [token, others] = [await earlier(), await earlier('other')]
    expect([await isActive(token), await refresh(others, there, other)]).toMatchObject([true, { status: 200 }])
    const agent = new UserAgent()
    const granted = await grant(agent)
    await forget()
    const visitor = visitAccount(server.issuer, agent)
    const shown = await visitor.section('applications')
    expect(shown.text).not.toMatch(/no access|No application has/)
    const done = await visitor.send('applications', { action: 'withdraw', client_id: 'web' })
    expect(done.html).toContain('The application no longer has access.')
    for (const at of [server.issuer, there]) {
      expect(await refresh(token, at)).toMatchObject({ status: 400, error: 'invalid_grant' })
      expect(await refresh(String(granted['refresh_token']), at)).toMatchObject({ status: 400, error: 'invalid_grant' })
      expect(await isActive(token, at)).toBe(false)
      expect(await isActive(granted['access_token'], at)).toBe(false)
      const headers = { authorization: `Bearer ${String(granted['access_token'])}` }
      expect((await fetch(`${at}/userinfo`, { headers })).status).toBe(401)
    }
    expect(await refresh(others, there, other)).toMatchObject({ status: 200 })
    // In the same session, so with the same auth_time.
    const again = await grant(agent)
    expect(await isActive(again['access_token'], there)).toBe(true)
    expect(await refresh(String(again['refresh_token']), there)).toMatchObject({ status: 200 })
  })

  it('is listed from its first refresh on', async () => {
    expect(await listed(bob.sub)).toEqual([])
    const none = await run('grants', 'list', '--sub', bob.sub)
    expect(none.stdout).toContain('One that an earlier version gave is listed once it is used')
    const visitor = visitAccount(server.issuer)
    await visitor.signIn(bob)
    expect((await visitor.section('applications')).text).not.toMatch(/no access|No application has/)
    const token = await earlier('other', bob.sub)
    expect(await refresh(token, there, other)).toMatchObject({ status: 200 })
    expect(await listed(bob.sub)).toEqual(['other'])
    expect((await visitor.section('applications')).rows).toContain('Other application')
    await visitor.send('applications', { action: 'withdraw', client_id: 'other' })
    expect(await refresh(token, server.issuer, other)).toMatchObject({ status: 400, error: 'invalid_grant' })
    expect(await listed(bob.sub)).toEqual([])
  })

  it.each([
    ['one client', carol.sub, ['--client', 'web'], 200],
    ['all clients', dave.sub, [], 400],
  ] as const)(
    'ends by grants revoke --sub for %s, which says that none was listed',
    async (_what, sub, more, status) => {
      const [token, others] = [await earlier('web', sub), await earlier('other', sub)]
      const revoked = await run('grants', 'revoke', '--sub', sub, ...more)
      expect(revoked).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('refused from now on') })
      for (const at of [server.issuer, there]) {
        expect(await refresh(token, at)).toMatchObject({ status: 400, error: 'invalid_grant' })
        expect(await refresh(others, at, other)).toMatchObject({ status })
      }
    },
  )
})
