import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { alive, askSilently, openAll, over, redeemLeft, stateOf, withEverything } from '../support/server/opened.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'

type Row = Readonly<Record<string, unknown>>

describe('what an operator ends for a person', () => {
  const keep = disposeAfterAll()
  let cli: CommandLine
  let server: TestServer
  beforeAll(async () => {
    cli = keep(await openCommandLine())
    server = keep(await startServer({ configure: withEverything }))
  })

  const run = (...args: string[]) => cli.run([...args, '--config', join(server.directory, 'signet.yaml')])
  const ofAlice = (group: string, command: string, ...more: string[]) =>
    run(group, command, '--sub', subject, '--json', ...more)
  const list = async (group: string) => JSON.parse((await ofAlice(group, 'list')).stdout) as readonly Row[]
  const actions = async () =>
    (await server.audit()).filter(({ event }) => event === 'administration').map(({ action, sub }) => [action, sub])

  it('SE10 sessions are found by the person and ended, one or all; grants remain', async () => {
    const [one, other] = [await openAll(server.issuer, person), await openAll(server.issuer, person)]
    const listed = await list('sessions')
    expect(listed).toHaveLength(2)
    for (const row of listed) expect(row).toMatchObject({ sid: expect.any(String), amr: ['pwd'] })
    expect(JSON.stringify(listed)).not.toContain(one.agent.cookies.get('signet-session')?.value)

    const [{ sid = '' } = {}] = listed
    const ended = await ofAlice('sessions', 'end', '--sid', String(sid))
    expect(JSON.parse(ended.stdout)).toEqual({ sub: subject, sessions: [sid] })
    const left = [await askSilently(server.issuer, one.agent), await askSilently(server.issuer, other.agent)]
    expect(left.toSorted()).toEqual(['code', 'login_required'])
    expect(await run('sessions', 'end', '--sub', subject)).toMatchObject({ code: 0, stdout: 'Ended 1 session\n' })
    for (const opened of [one, other])
      expect(await stateOf(server.issuer, opened)).toEqual({ ...alive, session: 'login_required' })
    expect(await list('sessions')).toEqual([])
    expect(await run('sessions', 'end', '--sub', subject)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'There is no such session.\n',
    })
  })

  it('SE10 a session replaced by another sign-in is no longer listed', async () => {
    const { agent } = await openAll(server.issuer, person)
    const before = await list('sessions')
    await agent.authorize(
      `${server.issuer}/authorize?${new URLSearchParams({
        client_id: 'web',
        redirect_uri: 'https://client.example/cb',
        response_type: 'code',
        scope: 'openid',
        prompt: 'login',
        code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
        code_challenge_method: 'S256',
      })}`,
      person,
    )
    expect(await askSilently(server.issuer, agent)).toBe('code')
    expect((await list('sessions')).map(({ sid }) => sid)).toEqual(before.map(({ sid }) => sid))
  })

  it('SE11 grants are found by the person, and ended for one client or all; sessions remain', async () => {
    await run('grants', 'revoke', '--sub', subject)
    const opened = await openAll(server.issuer, person)
    const listed = await list('grants')
    expect(listed.map(({ client_id }) => client_id).toSorted()).toEqual(['tv', 'web', 'web'])
    for (const row of listed) expect(row).toMatchObject({ scope: 'openid email offline_access' })

    expect(await run('grants', 'revoke', '--sub', subject, '--client', 'tv')).toMatchObject({
      code: 0,
      stdout: 'Revoked 1 grant\n',
    })
    expect(await stateOf(server.issuer, opened)).toEqual(alive)
    const revoked = await ofAlice('grants', 'revoke', '--client', 'web')
    expect(JSON.parse(revoked.stdout)).toMatchObject({ sub: subject, grants: { length: 3 } })
    expect(await stateOf(server.issuer, opened)).toEqual({ ...over, session: 'code' })
    expect(await redeemLeft(server.issuer, opened)).toEqual(['invalid_grant', 'invalid_grant'])
    expect(await run('grants', 'revoke', '--sub', subject, '--client', 'tv')).toMatchObject({
      code: 1,
      stderr: 'No such grant is listed. Tokens of one, if there are any, are refused from now on.\n',
    })
    for (const wrong of [[], ['abc', '--sub', subject], ['abc', '--client', 'web']])
      expect(await run('grants', 'revoke', ...wrong)).toMatchObject({ code: 2, stdout: '' })
  })

  it('a grant is found by its id alone, and a mistyped id is reported', async () => {
    await openAll(server.issuer, person)
    const grantId = String((await list('grants'))[0]?.['grant_id'])
    const revoke = (id: string) =>
      cli.run(['grants', 'revoke', '--json', '--config', join(server.directory, 'signet.yaml'), '--', id])
    const [one, typo] = [await revoke(grantId), await revoke(grantId.slice(1))]
    expect({ code: one.code, ...JSON.parse(one.stdout) }).toEqual({
      code: 0,
      grant_id: grantId,
      state: 'revoked',
      known: true,
    })
    expect({ code: typo.code, ...JSON.parse(typo.stdout) }).toMatchObject({ code: 1, known: false })
  })

  it('SE11 a withdrawn consent is asked for again', async () => {
    const { agent } = await openAll(server.issuer, person)
    expect(await askSilently(server.issuer, agent)).toBe('code')
    expect(await list('consents')).toEqual([
      { client_id: 'web', scope: 'openid email offline_access', claims: [], resource: [] },
    ])
    expect(await run('consents', 'revoke', '--sub', subject, '--client', 'app')).toMatchObject({ code: 1 })
    expect(await run('consents', 'revoke', '--sub', subject)).toMatchObject({ code: 0, stdout: 'Revoked 1 consent\n' })
    expect(await askSilently(server.issuer, agent)).toBe('consent_required')
    expect(await list('consents')).toEqual([])
  })

  it('SE12 people end ends all of it, for an account of the configuration, too', async () => {
    const opened = await openAll(server.issuer, person)
    const code = await run('people', 'end', '--sub', subject)
    expect(code).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Ended \d+ sessions?, \d+ grants?, 1 consent\n$/),
    })
    expect(await stateOf(server.issuer, opened)).toEqual(over)
    expect(await redeemLeft(server.issuer, opened)).toEqual(['invalid_grant', 'invalid_grant'])
    for (const group of ['sessions', 'grants', 'consents']) expect(await list(group)).toEqual([])
    const again = await openAll(server.issuer, person)
    expect(await stateOf(server.issuer, again)).toEqual(alive)
    expect(await run('people', 'end', '--sub', 'nobody')).toMatchObject({
      code: 1,
      stdout: '',
      stderr: 'This subject is unknown. Sessions and grants that it may have had are ended all the same.\n',
    })
    expect(await actions()).toEqual(
      expect.arrayContaining([
        ['session.end', subject],
        ['grant.revoke', subject],
        ['consent.revoke', subject],
        ['person.end', subject],
      ]),
    )
    expect(await run('people', 'end')).toMatchObject({ code: 2, stderr: expect.stringContaining('--sub') })
  })
})
