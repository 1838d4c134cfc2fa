import { epochSeconds } from '../../clock.js'
import { csrfToken, isCsrfToken } from '../../interaction/csrf.js'
import { bindToBrowser, type AccountVisit } from '../../interaction/interaction.js'
import { accountNotices, isAccountNotice, type AccountNotice } from '../../interaction/pages/account-notices.js'
import { accountPage } from '../../interaction/pages/account-view.js'
import { logoOrigins } from '../../interaction/pages/client-on-page.js'
import { displayName } from '../../oauth/subjects/account.js'
import { OAuthError } from '../../oauth/errors.js'
import { said } from '../../oauth/said.js'
import { checkNoneRepeated } from '../../oauth/requests/params.js'
import { accountUrl } from '../authorization-flow/account-url.js'
import { withQuery } from '../authorization-flow/with-query.js'
import type { Flow } from '../authorization-flow/flow.js'
import { logoutCsrf } from '../authorization-flow/logout-form.js'
import type { CommonOptions, SignInMethods } from '../authorization-flow/options.js'
import { otherAccountUrl, otherPersonUrl, wantsOtherAccount } from '../authorization-flow/other-account.js'
import { checkForm, refuseForgery } from '../authorization-flow/page-form.js'
import { pagesFor } from '../authorization-flow/pages-for.js'
import { isRecent } from '../authorization-flow/recent-sign-in.js'
import type { RecoverySessions } from '../../interaction/recovery/recovery-sessions.js'
import type { Declaration, HandlersOf } from '../endpoint.js'
import { page, redirect, type EndpointRequest, type Reply } from '../message.js'
import type { RecordedHandler } from '../refusals.js'
import { createFindContext } from './find-context.js'
import { recoveryEndCsrf } from './recovery.js'
import type { AccountSection, Outcome, Shown, AccountContext } from './section.js'

const common = {
  body: 'page-form',
  errorTitle: 'account_error',
  // Without a session it stores a pending sign-in, as `/authorize` does.
  limit: { byAddress: 'authorize', byRefusals: false },
  refusedEvent: 'account.refused',
} as const

/** The person's own page. GET changes nothing. */
export const accountPages = {
  account: { path: '/account', methods: ['GET'], ...common, pages: [accountPage] },
  accountSection: { path: '/account/{section}', methods: ['GET', 'POST'], ...common },
  /** Where password managers send people (W3C, A Well-Known URL for Changing Passwords). */
  changePassword: { path: '/.well-known/change-password', methods: ['GET'], ...common },
} as const satisfies Readonly<Record<string, Declaration>>

type Options = Pick<CommonOptions, 'issuer' | 'pages' | 'clock'> & Pick<SignInMethods, 'accounts'>

export const createAccountPages = (
  options: Options,
  flow: Flow,
  sections: readonly AccountSection[],
  recoveries: Pick<RecoverySessions, 'find'>,
): HandlersOf<typeof accountPages> => {
  const { issuer, clock } = options
  const { cookies } = flow
  const findContext = createFindContext(options, flow, recoveries)
  const render = createRenderAccount(options, cookies)

  const signIn = async (http: EndpointRequest, account: AccountVisit): Promise<Reply> => {
    const begun = await flow.interactions.begin({ account }, http.cookie(cookies.browser), http.address)
    const login = flow.interactions.pageUrl(begun.id, 'login')
    return redirect(wantsOtherAccount(http) ? otherPersonUrl(flow, http, begun.id) : login, begun.cookies)
  }

  const sectionsFor = ({ recovery }: AccountContext): readonly AccountSection[] =>
    recovery === undefined ? sections : sections.filter(({ inRecovery }) => inRecovery)

  /** A recovery may change what a recent sign-in may. */
  const isFresh = ({ person, recovery }: AccountContext): boolean =>
    recovery !== undefined || isRecent(person.session, clock)

  const respond = (context: AccountContext, outcome: Outcome): Reply => {
    if ('notice' in outcome) {
      const { notice, cookies: set = [] } = outcome
      const bound = bindToBrowser(cookies, context.http.cookie(cookies.browser))
      const url = withQuery(accountUrl(issuer), { notice, seal: sealOf(bound.browser, notice) })
      return redirect(`${url}#${accountNotices[notice]}`, [...bound.cookies, ...set])
    }
    const { status, section, retryAfterSeconds } = outcome
    const reply = render(context, [{ section }], true, status)
    if (retryAfterSeconds === undefined) return reply
    return { ...reply, headers: { ...reply.headers, 'Retry-After': String(retryAfterSeconds) } }
  }

  const submit = async (context: AccountContext, section: AccountSection): Promise<Reply> => {
    const { http } = context
    if (!isCsrfToken(csrfOf(context, section.name), http.form.values.get('csrf'))) return refuseForgery()
    const action = section.actions.get(http.form.values.get('action') ?? '')
    if (action === undefined) throw new OAuthError('invalid_request', said('no_action'))
    if (typeof action === 'function') return respond(context, await action(context))
    if (!isFresh(context)) return signIn(http, { section: section.name, again: true })
    return respond(context, await action.afterRecentSignIn(context))
  }

  const showPart = async (context: AccountContext, section: AccountSection): Promise<Reply> => {
    if (section.asksAgain && !isFresh(context)) return signIn(context.http, { section: section.name, again: true })
    return render(context, [await section.show(context, readAfter(context.http))], true)
  }

  const account: RecordedHandler = async (http, seen) => {
    checkNoneRepeated(http.query)
    const context = wantsOtherAccount(http) ? undefined : await findContext(http)
    if (context === undefined) return signIn(http, {})
    seen.sub = context.person.session.subject
    return render(
      context,
      await Promise.all(sectionsFor(context).map((section) => section.show(context, undefined))),
      false,
    )
  }

  const accountSection: RecordedHandler = async (http, seen) => {
    checkForm(http)
    checkNoneRepeated(http.query)
    const isAsked = ({ name }: AccountSection): boolean => name === http.path.get('section')
    const section = sections.find(isAsked) ?? refusePage()
    const context = await findContext(http)
    // Another site's POST comes without cookies; the same page by GET has them.
    if (context === undefined && http.method === 'POST') return redirect(accountUrl(issuer, section.name))
    if (context === undefined) return signIn(http, { section: section.name })
    seen.sub = context.person.session.subject
    if (!sectionsFor(context).includes(section)) refusePage()
    return http.method === 'POST' ? submit(context, section) : showPart(context, section)
  }

  const changePassword: RecordedHandler = async () =>
    sections.some(({ name }) => name === 'password') ? redirect(accountUrl(issuer, 'password')) : refusePage()

  return { account, accountSection, changePassword }
}

/** Reads the position in a list from a link of ours. Throws `invalid_request`. */
const readAfter = ({ query }: EndpointRequest): string | undefined => {
  const after = query.values.get('after')
  if (after === undefined || /^[\w.-]{1,128}$/.test(after)) return after
  return refusePage()
}

const refusePage = (): never => {
  throw new OAuthError('invalid_request', said('no_page'), { status: 404 })
}

/** Renders the page or one section. */
const createRenderAccount = (
  { issuer, pages, clock }: Pick<Options, 'issuer' | 'pages' | 'clock'>,
  cookies: Flow['cookies'],
) => {
  const leave = ({ http, person, recovery }: AccountContext) =>
    recovery === undefined
      ? {
          account: {
            name: displayName(person.account, person.session.username),
            otherUrl: otherAccountUrl(accountUrl(issuer)),
          },
          signOut: { url: `${issuer}/logout`, csrf: logoutCsrf(http, cookies, person.session) },
        }
      : {
          account: { name: displayName(person.account, person.session.username) },
          signOut: { url: `${issuer}/recovery/end`, csrf: recoveryEndCsrf(recovery.cookie) },
          recovery: recovery.recovery,
        }

  return (context: AccountContext, shown: readonly Shown[], isPart: boolean, status = 200): Reply => {
    const { http } = context
    const { browser, cookies: set } = bindToBrowser(cookies, http.cookie(cookies.browser))
    const notice = noticeIn(http, browser)
    const spoken = pagesFor(pages, http)
    const html = spoken.show(accountPage, {
      ...leave(context),
      url: accountUrl(issuer),
      isPart,
      sections: shown.map(({ section, next }) => {
        const url = accountUrl(issuer, section.view)
        const form = { url, csrf: csrfOf(context, section.view) }
        return { ...section, form, ...(next !== undefined && { next: withQuery(url, { after: next }) }) }
      }),
      ...(notice && { notice, now: epochSeconds(clock) }),
    })
    const clients = shown.flatMap(({ section }) => {
      if (section.view === 'applications') return section.applications.map(({ client }) => client)
      return section.view === 'approvals' ? section.approvals.map(({ client }) => client) : []
    })
    return {
      ...page(status, html, spoken.language, set),
      images: logoOrigins(clients),
    }
  }
}

/** Valid for the forms of one section, in the session that saw the page. */
const csrfOf = ({ person: { cookie, session } }: AccountContext, section: string): string =>
  csrfToken(cookie, 'account', `${section}\n${session.sid}\n${session.subject}`)

/**
 * Prevents links by others from showing that something was done. It outlives the session, because a new password
 * starts another one.
 */
const sealOf = (browser: string, notice: AccountNotice): string => csrfToken(browser, 'account', `notice\n${notice}`)

const noticeIn = ({ query }: EndpointRequest, browser: string): AccountNotice | undefined => {
  const [notice, seal] = [query.values.get('notice'), query.values.get('seal')]
  if (notice === undefined || !isAccountNotice(notice)) return undefined
  return isCsrfToken(sealOf(browser, notice), seal) ? notice : undefined
}
