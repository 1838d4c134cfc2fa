import { csrfToken, isCsrfToken } from '../../interaction/csrf.js'
import { bindToBrowser } from '../../interaction/interaction.js'
import { definePage, showAccount, showForm, type AccountOnPage, type FormPage } from '../../interaction/pages/page.js'
import { sample } from '../../interaction/pages/sample.js'
import type { RecoveryLinks } from '../../interaction/recovery/recovery-links.js'
import type { RecoverySessions } from '../../interaction/recovery/recovery-sessions.js'
import { displayName } from '../../oauth/subjects/account.js'
import { OAuthError } from '../../oauth/errors.js'
import { said } from '../../oauth/said.js'
import { checkNoneRepeated } from '../../oauth/requests/params.js'
import { hashOpaqueToken } from '../../opaque-token.js'
import { accountUrl } from '../authorization-flow/account-url.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { CommonOptions, SignInMethods } from '../authorization-flow/options.js'
import { checkForm, refuseForgery } from '../authorization-flow/page-form.js'
import { pagesFor } from '../authorization-flow/pages-for.js'
import type { Declaration, HandlersOf } from '../endpoint.js'
import { page, redirect, type EndpointRequest, type Reply } from '../message.js'
import type { RecordedHandler, AuditContext } from '../refusals.js'

/**
 * The page that a recovery link opens. The form sends `csrf` and `link`; the button `#recovery-continue` uses up the
 * link.
 */
export interface RecoveryPage extends FormPage {
  readonly account: AccountOnPage
  readonly link: string
}

export const recoveryPage = definePage<RecoveryPage>({
  view: 'recovery',
  describe: (page, { translator }) => ({
    title: translator.text('recovery.title'),
    ...showForm(page),
    link: page.link,
    ...showAccount(page.account),
  }),
  samples: { '': { ...sample.form, account: { name: sample.name }, link: 'link-of-the-sample' } },
})

const common = {
  ...({ body: 'page-form', errorTitle: 'account_error' } as const),
  limit: { byAddress: 'authorize', byRefusals: false },
} as const

/** The target of a recovery link. GET uses nothing up, because mail services open links before people do. */
export const recoveryPages = {
  recovery: {
    path: '/recovery',
    methods: ['GET', 'POST'],
    ...common,
    pages: [recoveryPage],
    refusedEvent: 'account.recovery_refused',
  },
  recoveryEnd: { path: '/recovery/end', methods: ['POST'], ...common, refusedEvent: 'account.refused' },
} as const satisfies Readonly<Record<string, Declaration>>

/** For the form that ends a recovery. */
export const recoveryEndCsrf = (cookie: string): string => csrfToken(cookie, 'recovery', 'end')

export interface Recovery {
  readonly links: RecoveryLinks
  readonly sessions: RecoverySessions
}

type Options = Pick<CommonOptions, 'issuer' | 'pages' | 'audit'> & Pick<SignInMethods, 'accounts'>

/** Every invalid link gets the same answer. */
const refuseLink = (reason: string): never => {
  const description = said('recovery_over')
  throw new OAuthError('access_denied', description, { status: 404, title: said('link_over'), reason })
}

export const createRecoveryPages = (
  { issuer, pages, accounts, audit }: Options,
  { cookies }: Pick<Flow, 'cookies'>,
  { links, sessions }: Recovery,
): HandlersOf<typeof recoveryPages> => {
  const find = async (http: EndpointRequest, value: string, seen: AuditContext) => {
    const found = await links.find(value)
    if (found.outcome === 'refused') {
      seen.sub = found.subject
      return refuseLink(found.why)
    }
    const { link } = found
    seen.sub = link.subject
    const account = await accounts.find(link.subject, http.signal)
    return account === undefined ? refuseLink('the account has gone, or is disabled') : { link, account }
  }

  /** Bound to one browser, so that no page of another person can open a different account in it. */
  const csrfOf = (browser: string, value: string): string => csrfToken(browser, 'recovery', hashOpaqueToken(value))

  const show = async (http: EndpointRequest, seen: AuditContext): Promise<Reply> => {
    const value = http.query.values.get('link') ?? ''
    const { account, link } = await find(http, value, seen)
    const { browser, cookies: set } = bindToBrowser(cookies, http.cookie(cookies.browser))
    const spoken = pagesFor(pages, http)
    const html = spoken.show(recoveryPage, {
      action: `${issuer}/recovery`,
      csrf: csrfOf(browser, value),
      link: value,
      account: { name: displayName(account, link.username) },
    })
    return page(200, html, spoken.language, set)
  }

  const open = async (http: EndpointRequest, seen: AuditContext): Promise<Reply> => {
    const value = http.form.values.get('link') ?? ''
    const { link } = await find(http, value, seen)
    const browser = http.cookie(cookies.browser)
    if (browser === undefined || !isCsrfToken(csrfOf(browser, value), http.form.values.get('csrf'))) refuseForgery()
    // Opened before the link is used up, so that an outage does not cost the person the link. The loser of a race
    // never learns its id.
    const opened = await sessions.open(link)
    if (!(await links.redeem(value))) {
      await sessions.end(opened)
      return refuseLink('the link was used')
    }
    const auditContext = { request_id: http.requestId, sub: link.subject, sid: link.id }
    await audit.record({ event: 'account.recovery_started', ...auditContext })
    return redirect(accountUrl(issuer), [sessions.setCookie(opened)])
  }

  const recovery: RecordedHandler = async (http, seen) => {
    checkForm(http)
    checkNoneRepeated(http.query)
    return http.method === 'POST' ? open(http, seen) : show(http, seen)
  }

  const recoveryEnd: RecordedHandler = async (http, seen) => {
    checkForm(http)
    const found = await sessions.find(http.cookie(cookies.recovery))
    // The session expires by itself, and a sign-in is next in any case.
    if (found === undefined) return redirect(accountUrl(issuer), [sessions.setCookie()])
    const { subject: sub, sid } = found.recovery
    seen.sub = sub
    if (!isCsrfToken(recoveryEndCsrf(found.cookie), http.form.values.get('csrf'))) refuseForgery()
    await sessions.end(found)
    await audit.record({ event: 'account.recovery_ended', request_id: http.requestId, sub, sid })
    return redirect(accountUrl(issuer), [sessions.setCookie()])
  }

  return { recovery, recoveryEnd }
}
