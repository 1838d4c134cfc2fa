import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { basic } from '../support/clients/clients.js'
import { showPassword } from '../support/clients/second-factor.js'
import { authorizeUrl, verifier } from '../support/forge/mint.js'
import {
  openFactorsBrowser,
  scanQr,
  type Authenticator,
  type FactorsBrowser,
  type Visitor,
} from '../support/server/factors-browser.js'
import { clientOf, strongAcr } from '../support/server/passkey-server.js'
import { addPeople } from '../support/server/password-form.js'
import { issueLink } from '../support/server/recovery-link.js'
import { person, subject, webClient } from '../support/server/server.js'
import { describeWith } from '../support/services/describe-with.js'

const bob = { username: 'bob', password: 'a password of Bob alone', sub: 'bob-1' }
const carol = { username: 'carol', password: 'a password of Carol alone', sub: 'carol-1' }

describeWith('chromium', 'people and their factors', (executablePath) => {
  let opened: FactorsBrowser
  let alice: Visitor
  let device: Authenticator
  let now = Date.now()
  beforeAll(async () => {
    opened = await openFactorsBrowser(executablePath, () => now)
    await addPeople(opened.server.directory, bob, carol)
    alice = await opened.open()
    device = await opened.plug(alice)
  })
  afterAll(() => opened[Symbol.asyncDispose]())

  /** What the page does by itself may lead on before it has loaded. */
  const goto = ({ page }: Visitor, path: string) => page.goto(opened.server.issuer + path, { waitUntil: 'commit' })
  /** As the audit log has it, of the person who came to `/account` last. */
  const signedIn = async ({ page }: Visitor) => {
    await page.waitForSelector('#sessions')
    return (await opened.server.audit()).filter(({ event }) => event === 'login.succeeded').at(-1)
  }
  const names = ({ page }: Visitor) => page.locator('#passkeys h3').allInnerTexts()
  const noticeOf = ({ page }: Visitor, text: string) => page.locator('#passkeys .notice', { hasText: text }).waitFor()

  it('shows a message if the browser does not support passkeys', async () => {
    await using visitor = await opened.open()
    const { page } = visitor
    await page.addInitScript('delete window.PublicKeyCredential')
    await goto(visitor, '/account')
    await page.getByText('Signing in with a passkey does not work in this browser.').waitFor()
    expect(await page.locator('button.method').isVisible()).toBe(false)
    await visitor.checkFit()
    await visitor.signIn(person)
    await page.waitForSelector('#sessions')
  })

  it('adds a passkey after signing in once more, is told where there is one, names them', async () => {
    const { page } = alice
    // Nobody touches it: what the page offers among the suggestions waits.
    await device.touch(false)
    await goto(alice, '/account')
    await alice.signIn(person)
    now += 700_000
    await page.click('#passkeys-open')
    await page.getByText('again, to confirm it’s you').waitFor()
    await page.fill('#password', person.password)
    await page.click('#login-submit')
    await page.fill('#passkey-name', 'Laptop')
    await alice.checkFit()
    await device.touch(true)
    await page.click('#passkey-add')
    await noticeOf(alice, 'added')
    expect(await names(alice)).toEqual(['Laptop'])
    expect(await device.credentials()).toMatchObject([{ isResidentCredential: true, rpId: 'localhost' }])

    await page.click('#passkeys-open')
    await page.click('#passkey-add')
    await page.locator('#passkey-problem', { hasText: 'already' }).waitFor()
    const key = await opened.plug(alice, { transport: 'usb' })
    // They are listed by their age.
    now += 1000
    await device.touch(false)
    await page.click('#passkey-add')
    await noticeOf(alice, 'added')
    expect(await names(alice)).toEqual(['Laptop', 'Security key (Chrome, Linux)'])
    await alice.checkFit()
    await page.locator('#passkeys summary').nth(1).click()
    await page.locator('#passkeys input[name=name]').nth(1).fill('Key ring')
    await page.locator('#passkeys').getByRole('button', { name: 'Rename' }).click()
    await noticeOf(alice, 'Passkey renamed.')
    expect(await names(alice)).toEqual(['Laptop', 'Key ring'])
    await key.unplug()
  })

  it('signs in with it in the field for the username (conditional UI), and by the button', async () => {
    await device.touch(true)
    await alice.forget()
    await goto(alice, '/account')
    expect(await signedIn(alice)).toMatchObject({ sub: subject, amr: ['hwk', 'user'], method: 'passkey' })
    await alice.page.locator('#passkeys').getByText('Last used').waitFor()
    await device.touch(false)
    await alice.forget()
    await goto(alice, '/account')
    expect(await alice.page.getAttribute('#username', 'autocomplete')).toBe('username webauthn')
    await alice.untilSuggested()
    await device.touch(true)
    await alice.page.click('form[data-ceremony] button.method')
    expect(await signedIn(alice)).toMatchObject({ sub: subject, amr: ['hwk', 'user'] })
  })

  it('steps up from the password to the passkey, where a client asks for the acr of both', async () => {
    const { page } = alice
    await device.touch(false)
    await alice.forget()
    await goto(alice, '/account')
    await alice.signIn(person)
    expect(await signedIn(alice)).toMatchObject({ amr: ['pwd'] })
    const claims = JSON.stringify({ id_token: { acr: { essential: true, values: [strongAcr] } } })
    const redirect_uri = clientOf(opened.server.issuer)
    await page.goto(authorizeUrl(opened.server.issuer, { claims, redirect_uri }))
    await page.fill('#password', person.password)
    await page.click('#login-submit')
    await page.getByText('Confirm it’s you with a passkey.').waitFor()
    await alice.checkFit()
    await device.touch(true)
    await page.click('#login-submit')
    await page.waitForURL(`${redirect_uri}?**`)
    const code = new URL(page.url()).searchParams.get('code') ?? ''
    const response = await fetch(`${opened.server.issuer}/token`, {
      method: 'POST',
      headers: { authorization: basic(webClient) },
      body: new URLSearchParams({
        ...{ grant_type: 'authorization_code', code, redirect_uri, code_verifier: verifier },
      }),
    })
    const { id_token = '' } = (await response.json()) as Record<string, string>
    expect(JSON.parse(Buffer.from(id_token.split('.')[1] ?? '', 'base64url').toString())).toMatchObject({
      ...{ sub: subject, acr: strongAcr, amr: ['pwd', 'hwk', 'user'] },
    })
  })

  it('removes it, after which it no longer signs in', async () => {
    const { page } = alice
    await goto(alice, '/account')
    await page.locator('#passkeys summary').first().click()
    await page.locator('#passkeys').getByRole('button', { name: 'Remove Laptop' }).click()
    await noticeOf(alice, 'removed')
    expect(await names(alice)).toEqual(['Key ring'])
    await device.touch(false)
    await alice.forget()
    await goto(alice, '/account')
    await alice.untilSuggested()
    await device.touch(true)
    await page.click('form[data-ceremony] button.method')
    await page.getByText('Signing in with a passkey did not work. Try again.').waitFor()
    await alice.checkFit()
    expect(alice.complaints).toEqual([])
  })

  it('sets up another one with a recovery link, and signs in with that', async () => {
    const { page } = alice
    const clock = () => now
    await device.touch(false)
    await alice.forget()
    await page.goto(await issueLink(opened.server, { subject, username: person.username }, { clock }))
    await alice.checkFit()
    await page.click('#recovery-continue')
    await page.waitForSelector('#recovery')
    await page.click('#passkeys-open')
    await page.fill('#passkey-name', 'New phone')
    now += 1000
    await device.touch(true)
    await page.click('#passkey-add')
    await noticeOf(alice, 'added')
    await alice.checkFit()
    expect(await names(alice)).toEqual(['Key ring', 'New phone'])
    await alice.forget()
    await goto(alice, '/account')
    expect(await signedIn(alice)).toMatchObject({ sub: subject, amr: ['hwk', 'user'], method: 'passkey' })
    expect(alice.complaints).toEqual([])
  })

  it('says that passkeys need JavaScript', async () => {
    await using plain = await opened.open({ javaScriptEnabled: false })
    await goto(plain, '/account/passkeys')
    await plain.signIn(person)
    expect(await plain.page.innerText('#passkeys')).toContain('Passkeys need JavaScript.')
    expect(await plain.page.locator('#passkey-form').isVisible()).toBe(false)
  })

  it.each([
    ['with JavaScript', bob, true],
    ['without JavaScript', carol, false],
  ])('sets up an app by its QR code, signs in with it and with a recovery code (%s)', async (_how, who, scripts) => {
    await using visitor = await opened.open({ javaScriptEnabled: scripts })
    const { page } = visitor
    await goto(visitor, '/account')
    await visitor.signIn(who)
    await page.click('#totp-open')
    const uri = new URL(await scanQr(page))
    const secret = uri.searchParams.get('secret') ?? ''
    expect(uri.pathname).toContain(who.username)
    expect((await page.innerText('#totp-secret')).replaceAll(' ', '')).toBe(secret)
    if (scripts) await visitor.checkFit()
    for (const code of ['1', showPassword(secret, now)]) {
      await page.fill('#totp-code', code)
      await page.click('#totp-add')
    }
    const codes = await page.locator('#recovery-codes code').allInnerTexts()
    expect(codes).toHaveLength(10)
    if (scripts) {
      expect(await page.getAttribute('#codes-download', 'download')).toBe('recovery-codes.txt')
      const [download] = await Promise.all([page.waitForEvent('download'), page.click('#codes-download')])
      expect(await readFile(await download.path(), 'utf8')).toBe(`${codes.join('\n')}\n`)
    } else expect(await page.isHidden('#codes-actions')).toBe(true)
    await page.click('#codes-kept')
    await page.waitForURL('**/account')
    if (scripts) await visitor.checkFit()

    const signInWith = async (code: string): Promise<void> => {
      await visitor.forget()
      await goto(visitor, '/account')
      await visitor.signIn(who)
      await page.getByText('Enter the code shown in your authenticator app.').waitFor()
      await page.locator(scripts ? '#use-recovery-code' : '#code-recovery').waitFor()
      expect(await page.getAttribute('#code', 'inputmode')).toBe(scripts ? 'numeric' : 'text')
      expect(await page.innerText('.account')).toContain(who.username)
      await page.fill('#code', code)
      await page.click('#login-submit')
    }
    now += 30_000
    await signInWith(showPassword(secret, now))
    expect(await signedIn(visitor)).toMatchObject({ sub: who.sub, amr: ['pwd', 'otp'], method: 'password totp' })
    await signInWith(codes[0]?.toUpperCase() ?? '')
    expect(await signedIn(visitor)).toMatchObject({ sub: who.sub, amr: ['pwd', 'otp'] })
    expect(await page.innerText('#totp')).toContain('9 recovery codes left')

    await signInWith(codes[0] ?? '')
    expect(await page.innerText('#problem')).toBe('Incorrect code.')
    if (scripts) await visitor.checkFit()
    now += 30_000
    await page.fill('#code', showPassword(secret, now))
    await page.click('#login-submit')
    await page.locator('#totp summary', { hasText: 'Remove the app' }).click()
    await page.click('#totp-remove')
    await page.getByText('Authenticator app removed.').waitFor()
    await visitor.forget()
    await goto(visitor, '/account')
    await visitor.signIn(who)
    expect(await signedIn(visitor)).toMatchObject({ sub: who.sub, amr: ['pwd'] })
    expect(visitor.complaints).toEqual([])
  })
})
