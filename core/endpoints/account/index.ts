import { csrfToken, isCsrfToken } from '../../interaction/csrf.js'
import { tieToBrowser, type AccountVisit } from '../../interaction/interaction.js'
import { accountNotices, isAccountNotice, type AccountNotice } from '../../interaction/pages/account-notices.js'
import { logoOrigins } from '../../interaction/pages/client-on-page.js'
import { displayName } from '../../oauth/account.js'
import { OAuthError } from '../../oauth/errors.js'
import { checkNoneRepeated } from '../../oauth/params.js'
import { accountUrl } from '../authorization-flow/account-url.js'
import { withQuery } from '../authorization-flow/answer.js'
import type { Flow } from '../authorization-flow/flow.js'
import { logoutCsrf } from '../authorization-flow/logout-form.js'
import type { AuthorizationOptions } from '../authorization-flow/options.js'
import { otherAccountUrl, otherPersonUrl, wantsOtherAccount } from '../authorization-flow/other-account.js'
import { checkForm, refuseForgery } from '../authorization-flow/page-form.js'
import { pagesFor } from '../authorization-flow/pages-for.js'
import { isRecent } from '../authorization-flow/recent-sign-in.js'
import type { Declaration, HandlersOf } from '../endpoint.js'
import { page, redirect, type EndpointRequest, type Reply } from '../message.js'
import type { RecordedHandler } from '../refusals.js'
import type { AccountSection, Outcome, Shown, Visit } from './section.js'

const common = {
  body: 'page-form',
  errorTitle: 'Account error',
  // Without a session it stores what a sign-in is about, as `/authorize` does.
  limit: { byAddress: 'authorize', byRefusals: false },
  refusedEvent: 'account.refused',
} as const

/** The person's own page. GET changes nothing. */
export const accountPages = {
  account: { path: '/account', methods: ['GET'], ...common },
  accountSection: { path: '/account/{section}', methods: ['GET', 'POST'], ...common },
} as const satisfies Readonly<Record<string, Declaration>>

type Options = Pick<AuthorizationOptions, 'issuer' | 'pages' | 'clock'>

export const createAccountPages = (
  { issuer, pages, clock }: Options,
  flow: Flow,
  sections: readonly AccountSection[],
): HandlersOf<typeof accountPages> => {
  const { cookies } = flow

  const signIn = async (http: EndpointRequest, account: AccountVisit): Promise<Reply> => {
    const begun = await flow.interactions.begin({ account }, http.cookie(cookies.browser), http.address)
    const login = flow.interactions.pageUrl(begun.id, 'login')
    return redirect(wantsOtherAccount(http) ? otherPersonUrl(flow, http, begun.id) : login, begun.cookies)
  }

  /** Good for the forms of one section, in the session that the page was shown to. */
  const csrfOf = ({ http, person: { session } }: Visit, section: string): string =>
    csrfToken(http.cookie(cookies.session) ?? '', 'account', `${section}\n${session.sid}\n${session.subject}`)

  /** Nobody's link makes the page say that something was done. Outlives the session: a new password begins another one. */
  const sealOf = (browser: string, notice: AccountNotice): string => csrfToken(browser, 'account', `notice\n${notice}`)

  const noticeIn = ({ query }: EndpointRequest, browser: string): AccountNotice | undefined => {
    const [notice, seal] = [query.values.get('notice'), query.values.get('seal')]
    if (notice === undefined || !isAccountNotice(notice)) return undefined
    return isCsrfToken(sealOf(browser, notice), seal) ? notice : undefined
  }

  const render = (visit: Visit, shown: readonly Shown[], isPart: boolean, status = 200): Reply => {
    const { http, person } = visit
    const { browser, cookies: set } = tieToBrowser(cookies, http.cookie(cookies.browser))
    const notice = noticeIn(http, browser)
    const spoken = pagesFor(pages, http)
    const html = spoken.account({
      account: { name: displayName(person.account), otherUrl: otherAccountUrl(accountUrl(issuer)) },
      url: accountUrl(issuer),
      isPart,
      signOut: { url: `${issuer}/logout`, csrf: logoutCsrf(http, cookies, person.session) },
      sections: shown.map(({ section, next }) => {
        const url = accountUrl(issuer, section.view)
        const form = { url, csrf: csrfOf(visit, section.view) }
        return { ...section, form, ...(next !== undefined && { next: withQuery(url, { after: next }) }) }
      }),
      ...(notice && { notice }),
    })
    const applications = shown.flatMap(({ section }) => (section.view === 'applications' ? section.applications : []))
    return {
      ...page(status, html, spoken.language, set),
      images: logoOrigins(applications.map(({ client }) => client)),
    }
  }

  const settle = (visit: Visit, outcome: Outcome): Reply => {
    if ('notice' in outcome) {
      const { notice, cookies: set = [] } = outcome
      const tied = tieToBrowser(cookies, visit.http.cookie(cookies.browser))
      const url = withQuery(accountUrl(issuer), { notice, seal: sealOf(tied.browser, notice) })
      return redirect(`${url}#${accountNotices[notice]}`, [...tied.cookies, ...set])
    }
    const { status, section, retryAfterSeconds } = outcome
    const reply = render(visit, [{ section }], true, status)
    if (retryAfterSeconds === undefined) return reply
    return { ...reply, headers: { ...reply.headers, 'Retry-After': String(retryAfterSeconds) } }
  }

  const submit = async (visit: Visit, section: AccountSection): Promise<Reply> => {
    const { http, person } = visit
    if (!isCsrfToken(csrfOf(visit, section.name), http.form.values.get('csrf'))) return refuseForgery()
    const action = section.actions.get(http.form.values.get('action') ?? '')
    if (action === undefined) throw new OAuthError('invalid_request', 'The form contains no action.')
    if (typeof action === 'function') return settle(visit, await action(visit))
    if (!isRecent(person.session, clock)) return signIn(http, { section: section.name, again: true })
    return settle(visit, await action.afterRecentSignIn(visit))
  }

  const showPart = async (visit: Visit, section: AccountSection): Promise<Reply> => {
    const { http, person } = visit
    if (section.asksAgain && !isRecent(person.session, clock))
      return signIn(http, { section: section.name, again: true })
    return render(visit, [await section.show(visit, readAfter(http))], true)
  }

  const account: RecordedHandler = async (http, seen) => {
    checkNoneRepeated(http.query)
    const person = wantsOtherAccount(http) ? undefined : await flow.signedIn(http)
    if (person === undefined) return signIn(http, {})
    seen.sub = person.session.subject
    const visit = { http, person }
    return render(visit, await Promise.all(sections.map((section) => section.show(visit, undefined))), false)
  }

  const accountSection: RecordedHandler = async (http, seen) => {
    checkForm(http)
    checkNoneRepeated(http.query)
    const section = sections.find(({ name }) => name === http.path.get('section'))
    if (section === undefined) throw new OAuthError('invalid_request', 'This page does not exist.', { status: 404 })
    const person = await flow.signedIn(http)
    // What another site posts comes without cookies: the same page by GET has them.
    if (person === undefined && http.method === 'POST') return redirect(accountUrl(issuer, section.name))
    if (person === undefined) return signIn(http, { section: section.name })
    seen.sub = person.session.subject
    return http.method === 'POST' ? submit({ http, person }, section) : showPart({ http, person }, section)
  }

  return { account, accountSection }
}

/** The end of an id of a store, as a link of ours has it. Throws `invalid_request`. */
const readAfter = ({ query }: EndpointRequest): string | undefined => {
  const after = query.values.get('after')
  if (after === undefined || /^[\w.-]{1,128}$/.test(after)) return after
  throw new OAuthError('invalid_request', 'This page does not exist.', { status: 404 })
}
