import { expect } from 'vitest'
import type { SoftwareAuthenticator } from '../clients/software-authenticator.js'
import { UserAgent } from '../clients/user-agent.js'
import { readSection, visitAccount, type AccountVisitor } from './account-visitor.js'
import { passkeyOptions, passkeySetup } from './passkey-server.js'

interface Credentials {
  readonly username: string
  readonly password: string
}

/** A page of a sign-in, in the browser that opened it. */
export interface OpenPage {
  readonly agent: UserAgent
  readonly url: URL
  readonly html: string
  readonly status: number
}

const hidden = (html: string, name: string): string =>
  new RegExp(`name="${name}" value="([^"]+)"`).exec(html)?.[1] ?? ''

export const openSignIn = async (issuer: string, agent = new UserAgent()): Promise<OpenPage> => {
  const { response, url } = await agent.follow(`${issuer}/account`)
  return { agent, url, html: await response.text(), status: response.status }
}

/** What comes after a password: the page of the second factor, `/account`, or the same page again. */
export const sendPassword = async (page: OpenPage, { username, password }: Credentials): Promise<OpenPage> => {
  const { response, url } = await page.agent.submit(page.url, page.html, { username, password })
  return { ...page, url, html: await response.text(), status: response.status }
}

/** Somebody who has still to be asked for the second factor. */
export const passPassword = async (issuer: string, who: Credentials): Promise<OpenPage> => {
  const page = await sendPassword(await openSignIn(issuer), who)
  expect(page.html).toContain('name="code"')
  return page
}

export interface Answered {
  /** 303: signed in. */
  readonly status: number
  readonly headers: Headers
  /** The page that came instead. */
  readonly page: OpenPage
}

/** Answers a method of a page; `at` may be another replica than the one that made it. */
const answer = async (page: OpenPage, fields: Readonly<Record<string, string>>, at: string): Promise<Answered> => {
  const body = new URLSearchParams({ csrf: hidden(page.html, 'csrf'), ...fields })
  const response = await page.agent.fetch(at + page.url.pathname, { method: 'POST', body })
  const { status, headers } = response
  return { status, headers, page: { ...page, html: await response.text(), status } }
}

export const sendCode = (page: OpenPage, code: string, at = page.url.origin): Promise<Answered> =>
  answer(page, { method: 'totp', attempt: hidden(page.html, 'attempt'), code }, at)

/** What the authenticator signs for the challenge of a page, as `signed` is. */
export const sendPasskey = (page: OpenPage, signed: string, at = page.url.origin): Promise<Answered> => {
  const form = page.html.slice(page.html.indexOf('data-ceremony="passkey"'))
  return answer(page, { method: 'passkey', attempt: hidden(form, 'attempt'), answer: signed }, at)
}

export const optionsOf = ({ html }: OpenPage) => passkeyOptions(html)

/** Signs in at `/account` where no second factor is asked. */
export const visitAs = async (issuer: string, who: Credentials): Promise<AccountVisitor> => {
  const visitor = visitAccount(issuer, new UserAgent())
  await visitor.signIn(who)
  return visitor
}

/** The recovery codes that a page shows. */
export const recoveryCodesIn = (html: string): readonly string[] =>
  [...html.matchAll(/<code>([a-z2-9]{4}(?:-[a-z2-9]{4}){3})<\/code>/g)].map(([, code = '']) => code)

/** What the page of `/account/totp` offers to set up. */
export const openTotpSetup = async ({ page }: AccountVisitor) => {
  const { html } = await page('/account/totp')
  const { csrf, values } = readSection(html, 'totp')
  const [, shown = ''] = /id="totp-secret">([^<]*)</.exec(html) ?? []
  return { html, secret: shown.replaceAll(' ', ''), fields: { csrf, setup: values('setup')[0] ?? '' } }
}

/** Sets an app up; `codeOf` is what it shows. */
export const setUpApp = async (visitor: AccountVisitor, codeOf: (secret: string) => string) => {
  const { secret, fields } = await openTotpSetup(visitor)
  const { html } = await visitor.post('totp', { ...fields, action: 'add', code: codeOf(secret) })
  return { secret, csrf: fields.csrf, codes: recoveryCodesIn(html) }
}

export const addPasskey = async (visitor: AccountVisitor, authenticator: SoftwareAuthenticator): Promise<void> => {
  const { fields, options } = passkeySetup((await visitor.page('/account/passkeys')).html)
  const added = await visitor.post('passkeys', { ...fields, action: 'add', answer: authenticator.register(options) })
  expect(readSection(added.html, 'passkeys').notice).toContain('added')
}
