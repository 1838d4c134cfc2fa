import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { alive, openAll, over, redeemLeft, stateOf, withEverything } from '../support/server/opened.js'
import { freePort } from '../support/free-port.js'
import { person } from '../support/server/server.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { prepareRestarts, type ReloadServer } from '../support/server/reloading.js'

const mallory = { username: 'mallory', password: 'the password that was stolen' }

describe('what ends with a password', () => {
  const keep = disposeAfterAll()
  let cli: CommandLine
  let server: ReloadServer
  /** Where the second server on the same stores answers. */
  let there: string

  beforeAll(async () => {
    cli = keep(await openCommandLine())
    const deployment = keep(await prepareRestarts({ configure: withEverything }))
    server = keep(await deployment.start())
    const port = await freePort()
    there = `http://127.0.0.1:${port}`
    await deployment.edit((written) => ({ ...written, listen: { host: '127.0.0.1', port } }))
    keep(await deployment.start())
  })

  const run = (args: readonly string[], input = '') =>
    cli.run([...args, '--config', join(server.directory, 'signet.yaml')], { input })
  const add = async () => {
    const args = ['accounts', 'add', mallory.username, '--sub', 'm-1', '--password-stdin']
    expect(await run(args, mallory.password)).toMatchObject({ code: 0 })
  }
  const reset = (password: string) =>
    run(['accounts', 'set-password', mallory.username, '--password-stdin', '--json'], password)

  it('SE01 RT05 a new password ends session, refresh token, access token, code and device, on every replica', async () => {
    await add()
    const opened = await openAll(server.issuer, mallory)
    const other = await openAll(server.issuer, person)
    expect(await stateOf(server.issuer, opened)).toEqual(alive)
    expect(await stateOf(there, opened)).toEqual(alive)

    const changed = await reset('another password')
    expect(JSON.parse(changed.stdout)).toEqual({
      ...{ username: 'mallory', sub: 'm-1', state: 'password_changed', factors_kept: [], approvals_waiting: 0 },
    })
    expect(await stateOf(there, opened)).toEqual(over)
    expect(await stateOf(server.issuer, opened)).toEqual(over)
    expect(await redeemLeft(there, opened)).toEqual(['invalid_grant', 'invalid_grant'])
    expect(await stateOf(server.issuer, other)).toEqual(alive)
    expect(await redeemLeft(server.issuer, other)).toEqual([200, 200])

    const trail = await server.audit()
    expect(trail).toContainEqual(
      expect.objectContaining({ event: 'administration', action: 'account.set_password', username: 'mallory' }),
    )
    expect(JSON.stringify(trail)).not.toContain('another password')
  })

  it('SE02 a sign-in with the new password is good at once, and the old password opens nothing', async () => {
    const opened = await openAll(server.issuer, { ...mallory, password: 'another password' })
    expect(await stateOf(there, opened)).toEqual(alive)
    await expect(openAll(server.issuer, mallory)).rejects.toThrow('the pages do not end')
    expect(await stateOf(server.issuer, opened)).toEqual(alive)
  })

  it('SE03 an account that is removed and added again with its subject finds nothing of before', async () => {
    const opened = await openAll(server.issuer, { ...mallory, password: 'another password' })
    const taken = await run(['accounts', 'add', 'other', '--sub', 'm-1', '--password-stdin'], 'another password')
    expect(taken).toMatchObject({ code: 1, stderr: 'The subject is taken.\n' })
    expect(await stateOf(server.issuer, opened)).toEqual(alive)
    expect(await run(['accounts', 'remove', 'mallory'])).toMatchObject({ code: 0, stdout: 'Removed mallory\n' })
    await add()
    expect(await stateOf(server.issuer, opened)).toEqual(over)
    expect(await redeemLeft(server.issuer, opened)).toEqual(['invalid_grant', 'invalid_grant'])
    expect(await stateOf(there, await openAll(server.issuer, mallory))).toEqual(alive)
  })

  it('SE04 an account that is disabled and enabled again finds nothing of before', async () => {
    const opened = await openAll(server.issuer, mallory)
    expect(await run(['accounts', 'disable', 'Mallory'])).toMatchObject({ code: 0, stdout: 'Disabled Mallory\n' })
    expect(await stateOf(there, opened)).toEqual(over)
    const shown = await run(['accounts', 'show', 'mallory', '--json'])
    expect(JSON.parse(shown.stdout)).toMatchObject({ username: 'mallory', sub: 'm-1', source: 'store', disabled: true })
    await expect(openAll(server.issuer, mallory)).rejects.toThrow('the pages do not end')
    expect(await run(['accounts', 'enable', 'mallory'])).toMatchObject({ code: 0, stdout: 'Enabled mallory\n' })
    expect(await stateOf(there, opened)).toEqual(over)
    expect(await redeemLeft(there, opened)).toEqual(['invalid_grant', 'invalid_grant'])
    expect(await stateOf(there, await openAll(server.issuer, mallory))).toEqual(alive)
  })

  it.each([
    ['nobody', 'There is no such account in the store.\n'],
    [person.username, 'This account is in the configuration: change it there, and reload.\n'],
  ])('reports what cannot be changed for %s', async (username, stderr) => {
    const any = ['set-password', 'remove', 'update']
    for (const command of username === 'nobody' ? [...any, 'disable', 'enable'] : any) {
      const options = { 'set-password': ['--password-stdin'], update: ['--claim', 'a=1'] }
      const more = options[command as keyof typeof options] ?? []
      const refused = await run(['accounts', command, username, ...more], 'another password')
      expect(refused).toEqual({ code: 1, stdout: '', stderr })
    }
  })
})
