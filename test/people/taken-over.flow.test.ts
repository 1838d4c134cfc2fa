import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { SoftwareAuthenticator } from '../support/clients/software-authenticator.js'
import { showPassword } from '../support/clients/second-factor.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { freePort } from '../support/free-port.js'
import { readSection } from '../support/server/account-visitor.js'
import { openCommandLine, type CommandLine } from '../support/server/command-line.js'
import { withTotp, withPasskeys } from '../support/server/passkey-server.js'
import { addPeople, changePassword } from '../support/server/password-form.js'
import { prepareRestarts, type ReloadServer } from '../support/server/reloading.js'
import {
  addPasskey,
  openSignIn,
  optionsOf,
  sendPasskey,
  setUpApp,
  visitAs,
} from '../support/server/second-factor-visits.js'

const jan = { username: 'jan', password: 'the password that was stolen', sub: 'jan-1' }
const safe = 'four words that nobody knows'

describe('an account that was taken over', () => {
  const keep = disposeAfterAll()
  let cli: CommandLine
  let server: ReloadServer
  /** Where the second replica answers. */
  let there: string
  let now = Date.now()
  beforeAll(async () => {
    cli = keep(await openCommandLine())
    const configure = (written: Record<string, unknown>) => withTotp(withPasskeys(written))
    const deployment = keep(await prepareRestarts({ configure, clock: () => now }))
    server = keep(await deployment.start())
    await addPeople(server.directory, jan)
    const port = await freePort()
    there = `http://127.0.0.1:${port}`
    await deployment.edit((written) => ({ ...written, listen: { host: '127.0.0.1', port } }))
    keep(await deployment.start())
  })

  const run = (args: readonly string[], input = '') =>
    cli.run([...args, '--config', join(server.directory, 'signet.yaml')], { input })
  const setPassword = (...more: string[]) =>
    run(['accounts', 'set-password', 'jan', '--password-stdin', ...more], jan.password)
  /** Of somebody who knows the password, and adds what outlives it. */
  const breakIn = async () => {
    const thief = new SoftwareAuthenticator(server.issuer)
    await addPasskey(await visitAs(server.issuer, jan), thief)
    return thief
  }
  /** 303: signed in. */
  const comeBack = async (thief: SoftwareAuthenticator, at?: string) => {
    const page = await openSignIn(server.issuer)
    return (await sendPasskey(page, thief.signIn(optionsOf(page)), at)).status
  }
  /** Commands have the clock of the machine: sign-ins of the server come after what they end. */
  const later = () => void (now = Math.max(now, Date.now()) + 2000)
  const lastChange = async () =>
    (await server.audit()).findLast(({ event }) => event === 'administration') as Record<string, unknown>

  it('lists what remains after set-password, with dates, and how to end it', async () => {
    const thief = await breakIn()
    const changed = await setPassword()
    later()
    expect(changed).toMatchObject({ code: 0, stderr: '' })
    expect(changed.stdout).toContain('Changed the password of jan\n1 factor of this person remains:\n')
    expect(changed.stdout).toMatch(/passkey-[\w-]{22} +\S.* \d{4}-\d\d-\d\dT/)
    expect(changed.stdout).toContain('signet people end --sub jan-1')
    expect(await comeBack(thief)).toBe(303)
    for (const command of ['disable', 'enable']) {
      const { stdout } = await run(['accounts', command, 'jan', '--json'])
      later()
      expect(JSON.parse(stdout)).toMatchObject({ sub: 'jan-1', factors_kept: [{ kind: 'passkey' }] })
    }
    expect(await comeBack(thief)).toBe(303)
  })

  it('set-password --factors ends passkeys on every replica, and the audit log names them', async () => {
    const thief = await breakIn()
    const { stdout } = await setPassword('--factors', '--json')
    later()
    const { factors_removed: removed } = JSON.parse(stdout) as { factors_removed: { id: string; created_at: string }[] }
    expect(removed).toHaveLength(2)
    for (const one of removed) expect(one).toMatchObject({ kind: 'passkey', created_at: expect.any(String) })
    expect([await comeBack(thief), await comeBack(thief, there)]).toEqual([403, 403])
    expect(await lastChange()).toMatchObject({
      ...{ action: 'account.set_password', username: 'jan', factors_removed: removed.map(({ id }) => id) },
      by: { via: 'command', os_user: expect.any(String), host: expect.any(String) },
    })
  })

  it('people end removes passkeys, the app and recovery codes, unless it is asked to keep them', async () => {
    const thief = await breakIn()
    await setUpApp(await visitAs(server.issuer, jan), (secret) => showPassword(secret, now))
    const kept = await run(['people', 'end', '--sub', 'jan-1', '--no-factors'])
    later()
    expect(kept.stdout).toContain('3 factors of this person remain:')
    expect(await comeBack(thief)).toBe(303)
    const ended = await run(['people', 'end', '--sub', 'jan-1', '--json'])
    later()
    const kinds = (JSON.parse(ended.stdout) as { factors_removed: { kind: string }[] }).factors_removed
    expect(kinds.map(({ kind }) => kind)).toEqual(['passkey', 'recovery_codes', 'totp'])
    expect([await comeBack(thief), await comeBack(thief, there)]).toEqual([403, 403])
    // Nobody is asked for an app that has gone.
    expect((await visitAs(server.issuer, jan)).agent.cookies.get('signet-session')).toBeDefined()
    expect((await run(['people', 'end', '--sub', 'jan-1'])).stdout).not.toContain('factor')
    later()
  })

  it('/account shows, after a new password, what still signs the person in, and removes it there', async () => {
    const thief = await breakIn()
    now += 3 * 60_000
    const victim = await visitAs(server.issuer, jan)
    const { section } = await changePassword(victim, jan.password, safe)
    expect(section.html).toContain('id="remaining"')
    expect(section.text).toContain('You can still sign in with these. Remove any that you don’t recognise.')
    expect(section.text).toContain('(3 minutes ago)')
    expect(section.html).toContain('href="#passkeys"')
    later()
    expect(await comeBack(thief, there)).toBe(303)
    const passkeys = readSection((await victim.page()).html, 'passkeys')
    const [factor = ''] = passkeys.values('factor')
    await victim.post('passkeys', { csrf: passkeys.csrf, action: 'remove', factor })
    expect([await comeBack(thief), await comeBack(thief, there)]).toEqual([403, 403])
    const again = await changePassword(victim, safe, jan.password)
    expect(again.section.html).not.toContain('id="remaining"')
  })
})
