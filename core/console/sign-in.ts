import type { AdminDeclaration, OperatorHandler } from '../endpoints/admin/admin-endpoint.js'
import { page, redirect, type EndpointRequest, type Reply } from '../endpoints/message.js'
import { OAuthError } from '../oauth/errors.js'
import type { AuditLog } from '../observe/audit.js'
import { findLink } from '../operators/links.js'
import { actedByOperator } from '../operators/operator.js'
import type { OperatorParts } from '../operators/operator-parts.js'
import { assertionOptions, hasPasskeys } from '../operators/passkeys.js'
import { setSessionCookie } from '../operators/sessions.js'
import type { SignInOutcome } from '../operators/sign-in.js'
import { isOfSite, signInPath, type AdminSite } from '../operators/site.js'
import { consolePath } from './console-page.js'
import type { ConsoleDocuments, SpokenConsole } from './documents.js'

export interface SignInPagesOptions {
  readonly operators: OperatorParts
  readonly documents: ConsoleDocuments
  /** The path of `admin.base_url`, before every link. */
  readonly base: string
  readonly audit: AuditLog
  /** Records an attempt that signed nobody in. */
  readonly refused: (request: EndpointRequest, why: string, name: string | undefined) => Promise<void>
}

/** Requests of one address in a minute. Each page that is shown stores a challenge for some minutes. */
const perMinute = 120

const declare = <Method extends 'GET' | 'POST'>(method: Method, path: string) =>
  ({
    ...{ path: `${signInPath}${path}`, methods: [method], permission: 'none', limit: perMinute, errorTitle: 'error' },
    body: method === 'POST' ? 'page-form' : 'none',
    ...(method === 'POST' && { event: 'operator.signed_in' as const }),
  }) as const satisfies AdminDeclaration

/** The pages where operators sign in. Nobody has authenticated there. */
export const signInEndpoints = {
  show: declare('GET', ''),
  passkey: declare('POST', '/passkey'),
  oidc: declare('POST', '/oidc'),
  callback: declare('GET', '/oidc/callback'),
  link: declare('GET', '/link/{secret}'),
  useLink: declare('POST', '/link/{secret}'),
}

/** Carries the browser over to the issuer and back, so it must come with a request of another site. */
const attemptCookie = ({ isSecure }: AdminSite): string => (isSecure ? '__Host-signet-attempt' : 'signet-attempt')

const setAttemptCookie = (site: AdminSite, value: string): string =>
  `${attemptCookie(site)}=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${value === '' ? '0' : '600'}${site.isSecure ? '; Secure' : ''}`

const refuse = (message: string): never => {
  throw new OAuthError('access_denied', message, { status: 403 })
}

/** Creates the handlers of `signInEndpoints`. They throw `OAuthError` and `Unavailable`. */
export const createSignInPages = (
  options: SignInPagesOptions,
): Readonly<Record<keyof typeof signInEndpoints, OperatorHandler>> => {
  const { operators, documents, base, audit, refused } = options
  const { signIns, site: findSite, links, oidc } = operators

  const siteOf = (request: EndpointRequest): AdminSite =>
    findSite(request) ?? refuse('Open the console under admin.base_url, or under a name of loopback.')
  /** No other site can sign a browser in, as somebody whom the person does not expect. */
  const ownSiteOf = (request: EndpointRequest): AdminSite => {
    const site = siteOf(request)
    return isOfSite(site, request) ? site : refuse('The form comes from another site.')
  }
  const speak = (request: EndpointRequest): SpokenConsole => documents.for(request.header('accept-language'))

  const showPage = async (request: EndpointRequest, { failed = false } = {}): Promise<Reply> => {
    const site = siteOf(request)
    const { texts, show, language } = speak(request)
    const options = hasPasskeys(site) ? JSON.stringify(assertionOptions(site, await signIns.beginPasskey())) : undefined
    const data = { options, oidc: oidc(), failed, script: 'passkey-login.js' }
    const html = show({ view: 'sign-in', title: texts.text('sign_in.title'), data }, { base })
    return page(failed ? 400 : 200, html, language)
  }

  const finish = async (request: EndpointRequest, site: AdminSite, outcome: SignInOutcome): Promise<Reply> => {
    if ('refused' in outcome) {
      await refused(request, outcome.refused, outcome.name)
      return showPage(request, { failed: true })
    }
    const { cookie, session } = outcome
    const by = actedByOperator(
      { ...session, roles: [], permissions: new Set() },
      { via: 'console', address: request.address },
    )
    await audit.record({ event: 'operator.signed_in', request_id: request.requestId, by })
    return {
      ...redirect(`${base}${consolePath}`),
      cookies: [setSessionCookie(site, cookie), setAttemptCookie(site, '')],
    }
  }

  /** Without the name of the host: it is that of `admin.base_url`. */
  const redirectUri = ({ origin }: AdminSite): string => `${origin}${base}${signInEndpoints.callback.path}`

  return {
    show: (request) => showPage(request),
    async passkey(request) {
      const site = ownSiteOf(request)
      const { values } = request.form
      const answer = values.get('answer')
      return finish(request, site, await signIns.finishPasskey(site, values.get('challenge'), answer))
    },
    async oidc(request) {
      const site = ownSiteOf(request)
      const { url, browser } = await signIns.beginOidc(redirectUri(site), request.signal)
      return { ...redirect(url), cookies: [setAttemptCookie(site, browser)] }
    },
    async callback(request) {
      const site = siteOf(request)
      const query = new URLSearchParams([...request.query.values]).toString()
      const browser = request.cookie(attemptCookie(site))
      const answer = { redirectUri: redirectUri(site), query, state: request.query.values.get('state'), browser }
      const reply = await finish(request, site, await signIns.finishOidc(answer, request.signal))
      if (reply.status !== 303) return { ...reply, cookies: [setAttemptCookie(site, '')] }
      // The browser sends no strict cookie after a redirect that another site began, so a page of ours goes on.
      const { texts, show, language } = speak(request)
      const html = show(
        { view: 'signed-in', title: texts.text('sign_in.done'), data: { next: `${base}${consolePath}` } },
        { base },
      )
      return page(200, html, language, reply.cookies)
    },
    /** Programs that look at addresses in mails use no link: only the form does. */
    async link(request) {
      const { texts, show, language } = speak(request)
      const link = await findLink(links, request.path.get('secret'))
      if (link === undefined) return showPage(request, { failed: true })
      const html = show(
        { view: 'sign-in-link', title: texts.text('sign_in.title'), data: { name: link.name } },
        { base },
      )
      return page(200, html, language)
    },
    async useLink(request) {
      const site = ownSiteOf(request)
      return finish(request, site, await signIns.finishLink(request.path.get('secret')))
    },
  }
}
