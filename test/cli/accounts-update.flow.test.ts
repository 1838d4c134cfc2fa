import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { SoftwareAuthenticator } from '../support/clients/software-authenticator.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { visitAccount } from '../support/server/account-visitor.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { alive, openAll, over, stateOf, withEverything } from '../support/server/opened.js'
import { withPasskeys } from '../support/server/passkey-server.js'
import { addPeople } from '../support/server/password-form.js'
import { addPasskey, visitAs } from '../support/server/second-factor-visits.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'

const dave = { username: 'dave', password: 'a password of Dave alone', sub: 'dave-1' }
const erin = { username: 'erin', password: 'a password of Erin alone', sub: 'erin-1' }

describe('accounts update', () => {
  const keep = disposeAfterAll()
  let cli: CommandLine
  let server: TestServer
  beforeAll(async () => {
    cli = keep(await openCommandLine())
    server = keep(await startServer({ configure: (written) => withPasskeys(withEverything(written)) }))
    await addPeople(server.directory, dave, erin)
  })
  const run = (...args: string[]) => cli.run([...args, '--config', join(server.directory, 'signet.yaml')])
  const show = async (username: string) => JSON.parse((await run('accounts', 'show', username, '--json')).stdout)
  const change = async () => (await server.audit()).findLast(({ event }) => event === 'administration')

  it('changes, adds and removes claims, without affecting sessions, grants and factors', async () => {
    const opened = await openAll(server.issuer, dave)
    await addPasskey(await visitAs(server.issuer, dave), new SoftwareAuthenticator(server.issuer))
    const set = ['--claim', 'email=dave@example.org', '--claim', 'groups=["staff"]', '--claim', 'phone_number=+4930']
    expect(await run('accounts', 'update', 'Dave', ...set)).toMatchObject({ code: 0, stdout: 'Updated dave\n' })
    const updated = await run(
      ...['accounts', 'update', 'dave', '--unset', 'phone_number', '--claim', 'name=Dave Doe', '--json'],
    )
    expect(JSON.parse(updated.stdout)).toEqual({ username: 'dave', sub: 'dave-1', state: 'updated' })
    expect(await show('dave')).toMatchObject({
      claims: { email: 'dave@example.org', groups: ['staff'], name: 'Dave Doe' },
    })
    expect(await change()).toMatchObject({
      ...{ action: 'account.update', username: 'dave', claims: ['name'], claims_unset: ['phone_number'] },
    })
    expect(JSON.stringify(await server.audit())).not.toMatch(/Dave Doe|dave@example|4930/)
    expect(await stateOf(server.issuer, opened)).toEqual(alive)
    const factors = await run('accounts', 'factors', 'dave', '--json')
    expect(JSON.parse(factors.stdout)).toMatchObject([{ kind: 'passkey' }])
  })

  it('loses no concurrent update', async () => {
    const names = Array.from({ length: 12 }, (_, index) => `claim_${String(index)}`)
    const all = await Promise.all(names.map((name) => run('accounts', 'update', 'erin', '--claim', `${name}=1`)))
    expect(all.map(({ code }) => code)).toEqual(names.map(() => 0))
    expect((await show('erin')).claims).toEqual(Object.fromEntries(names.map((name) => [name, 1])))
  })

  it('renames: only the new name signs in, and sessions and grants remain', async () => {
    const opened = await openAll(server.issuer, erin)
    const renamed = await run('accounts', 'update', 'erin', '--username', 'Erin.Roe', '--claim', 'email=e@example.org')
    expect(renamed).toMatchObject({ code: 0, stdout: 'Updated Erin.Roe\n' })
    expect(await show('erin.roe')).toMatchObject({ username: 'Erin.Roe', sub: 'erin-1', claims: { claim_3: 1 } })
    expect(await run('accounts', 'show', 'erin')).toMatchObject({ code: 1 })
    expect(await stateOf(server.issuer, opened)).toEqual(alive)
    expect(await stateOf(server.issuer, await openAll(server.issuer, { ...erin, username: 'erin.roe' }))).toEqual(alive)
    await expect(openAll(server.issuer, erin)).rejects.toThrow()
    // Letter case alone.
    expect(await run('accounts', 'update', 'erin.roe', '--username', 'erin.ROE')).toMatchObject({ code: 0 })
    expect(await show('erin.roe')).toMatchObject({ username: 'erin.ROE' })
    expect(await run('accounts', 'update', 'erin.roe', '--username', 'erin')).toMatchObject({ code: 0 })
  })

  it.each([
    [['dave'], 'There is nothing to change'],
    [['nobody', '--claim', 'a=1'], 'There is no such account in the store.'],
    [[person.username, '--claim', 'a=1'], 'This account is in the configuration'],
    [['dave', '--username', 'erin'], 'The username is taken.'],
    [['dave', '--username', person.username], 'The configuration has an account with this username'],
    [['dave', '--username', 'a\u200bb'], 'none that nobody sees'],
    [['dave', '--claim', 'a=1', '--unset', 'a'], 'either set or unset'],
    [['dave', '--claim', 'sub=x'], 'option of its own'],
  ])('refuses %j', async (args, text) => {
    const refused = await run('accounts', 'update', ...args)
    expect(refused.code).toBeGreaterThan(0)
    expect(refused.stderr).toContain(text)
    expect(await show('dave')).toMatchObject({ username: 'dave', sub: 'dave-1' })
  })

  it('changes no claim if the new username is taken', async () => {
    const before = await show('dave')
    const { code, stderr } = await run('accounts', 'update', 'dave', '--claim', 'refused=yes', '--username', 'erin')
    expect({ code, stderr }).toEqual({ code: 1, stderr: 'The username is taken.\n' })
    expect(await show('dave')).toEqual(before)
  })

  it('disables an account of the configuration at once, regardless of the file, until it is enabled', async () => {
    const opened = await openAll(server.issuer, person)
    const authenticator = new SoftwareAuthenticator(server.issuer)
    await addPasskey(await visitAs(server.issuer, person), authenticator)
    const disabled = await run('accounts', 'disable', person.username)
    expect(disabled.stdout).toContain(`Disabled ${person.username}\n1 factor of this person remains:`)
    expect(await stateOf(server.issuer, opened)).toEqual(over)
    // Once each: wrong sign-ins in a row delay the right one.
    const isRefused = async () => (await visitAccount(server.issuer).signIn(person)).html.includes('login-submit')
    expect(await isRefused()).toBe(true)
    expect(await show(person.username)).toMatchObject({ sub: subject, source: 'configuration', disabled: true })
    const listed = JSON.parse((await run('accounts', 'list', '--json')).stdout) as { sub: string }[]
    expect(listed.find(({ sub }) => sub === subject)).toMatchObject({ disabled: true })
    expect(await run('accounts', 'recover', person.username)).toMatchObject({
      ...{ code: 1, stderr: expect.stringContaining('disabled') },
    })
    await fetch(`${server.admin}/reload`, { method: 'POST' })
    expect(await isRefused()).toBe(true)
    expect(await run('accounts', 'enable', person.username)).toMatchObject({ code: 0 })
    expect(await show(person.username)).toMatchObject({ disabled: false })
    expect(await stateOf(server.issuer, opened)).toEqual(over)
    expect(await stateOf(server.issuer, await openAll(server.issuer, person))).toEqual(alive)
  })
})
