import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { showPassword } from '../support/clients/second-factor.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { readSection, visitAccount } from '../support/server/account-visitor.js'
import { withTotp } from '../support/server/passkey-server.js'
import { openTotpSetup, recoveryCodesIn } from '../support/server/second-factor-visits.js'
import { person, startServer, subject, type TestServer } from '../support/server/server.js'

let server: TestServer
let now = Date.now()
beforeAll(async () => {
  server = await startServer({ configure: withTotp, clock: () => now })
})
afterAll(() => server[Symbol.asyncDispose]())

const open = async () => {
  const visitor = visitAccount(server.issuer, new UserAgent())
  await visitor.signIn(person)
  return { ...visitor, part: () => openTotpSetup(visitor) }
}

const codeOf = (secret: string): string => showPassword(secret, now)

describe('/account/totp', () => {
  it('SI60 sets an app up that has shown its code, and shows ten recovery codes once', async () => {
    const { part, post, page } = await open()
    const { fields, secret, html } = await part()
    expect(html).toMatch(/<svg class="qr"[^>]*role="img"/)
    expect((await page()).html).not.toContain(secret)
    const wrong = await post('totp', { ...fields, action: 'add', code: '000000' })
    expect({ status: wrong.status, problem: wrong.html }).toEqual({
      ...{ status: 400, problem: expect.stringContaining('Incorrect code.') },
    })
    // It is the one that the app has, and no other has to be scanned.
    expect(wrong.html.replaceAll(' ', '')).toContain(secret)
    const added = await post('totp', { ...fields, action: 'add', code: codeOf(secret) })
    expect(added.status).toBe(200)
    expect(new Set(recoveryCodesIn(added.html)).size).toBe(10)
    const again = await post('totp', { ...fields, action: 'add', code: codeOf(secret) })
    expect({ notice: readSection(again.html, 'totp').notice, codes: recoveryCodesIn(again.html) }).toEqual({
      ...{ notice: 'You already have an authenticator app.', codes: [] },
    })
    const { html: later, secret: none } = await part()
    expect({ codes: recoveryCodesIn(later), none, text: later }).toEqual({
      ...{ codes: [], none: '', text: expect.stringContaining('10 recovery codes left') },
    })
    const renewed = await post('totp', { csrf: fields.csrf, action: 'renew' })
    expect(recoveryCodesIn(renewed.html).filter((code) => recoveryCodesIn(added.html).includes(code))).toEqual([])
    const removed = await post('totp', { csrf: fields.csrf, action: 'remove' })
    expect(readSection(removed.html, 'totp').notice).toBe('Authenticator app removed.')
    expect(await post('totp', { csrf: fields.csrf, action: 'renew' })).toMatchObject({ status: 400 })
    const written = JSON.stringify(await server.audit())
    for (const hidden of [secret, ...recoveryCodesIn(added.html)]) expect(written).not.toContain(hidden)
    const kinds = (await server.audit()).filter(({ event }) => String(event).startsWith('account.factor_'))
    expect(kinds.map(({ event, kind, sub }) => [event, kind, sub])).toEqual([
      ['account.factor_added', 'totp', subject],
      ['account.factor_added', 'recovery_codes', subject],
      ['account.factor_added', 'recovery_codes', subject],
      ['account.factor_removed', 'recovery_codes', subject],
      ['account.factor_removed', 'totp', subject],
    ])
  })

  it('SI59 takes no setup of another session, and nothing without a recent sign-in', async () => {
    const [one, other] = [await open(), await open()]
    const [{ fields, secret }, { fields: own }] = [await one.part(), await other.part()]
    const answer = { action: 'add', code: codeOf(secret) }
    const foreign = await other.post('totp', { ...own, setup: fields.setup, ...answer })
    expect([foreign.status, foreign.html.replaceAll(' ', '').includes(secret)]).toEqual([400, false])
    expect(await one.post('totp', { ...fields, csrf: own.csrf, ...answer })).toMatchObject({ status: 403 })
    now += 700_000
    for (const action of ['add', 'renew', 'remove'])
      expect((await one.post('totp', { ...fields, action, code: codeOf(secret) })).url.pathname).toMatch(/login$/)
    expect(readSection((await one.page()).html, 'totp').text).toContain('Set up an authenticator app')
  })
})
