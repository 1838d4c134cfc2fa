import { setBrowserSessions, withCurrent, withoutSessions } from '../../interaction/browser-sessions.js'
import { csrfToken, isCsrfToken } from '../../interaction/csrf.js'
import { logoOrigins } from '../../interaction/pages/client-on-page.js'
import { selectPage } from '../../interaction/pages/select-page.js'
import { displayName } from '../../oauth/subjects/account.js'
import { OAuthError } from '../../oauth/errors.js'
import { said } from '../../oauth/said.js'
import { createEndSession, type EndSessionOptions } from '../authorization-flow/end-session.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { SignInRecords, CommonOptions } from '../authorization-flow/options.js'
import { otherAccountUrl, withAccount } from '../authorization-flow/other-account.js'
import { checkForm, clientOnPage, leadingBack, refuseForgery } from '../authorization-flow/page-form.js'
import { isHinted, secondName, type Person } from '../authorization-flow/people.js'
import { pagesFor } from '../authorization-flow/pages-for.js'
import type { Declaration } from '../endpoint.js'
import { page, redirect, type Handler, type Reply } from '../message.js'
import {
  getInteraction,
  openInteraction,
  tagClient,
  type OpenInteraction,
  type OwnInteraction,
} from './open-interaction.js'

/** GET and POST `/interaction/{id}/select`: asks which of the people signed in in this browser should continue. */
export const selectEndpoint = {
  path: '/interaction/{id}/select',
  methods: ['GET', 'POST'],
  body: 'page-form',
  errorTitle: 'sign_in_error',
  pages: [selectPage],
  limit: { byAddress: 'interaction', byRefusals: false },
} as const satisfies Declaration

/** With the client's request, if a client is waiting. */
interface Selection {
  readonly own: OwnInteraction
  readonly open: OpenInteraction | undefined
}

type Options = EndSessionOptions &
  Pick<CommonOptions, 'issuer' | 'clients' | 'pages'> &
  Pick<SignInRecords, 'sessionTtlSeconds'>

export const createSelectPage = (options: Options, flow: Flow): Handler => {
  const { pages, audit, sessionTtlSeconds } = options
  const { cookies, interactions } = flow
  const endSession = createEndSession(options, flow.sessions)

  const csrfOf = ({ browserCookie, interactionId }: OwnInteraction): string =>
    csrfToken(browserCookie, interactionId, 'select')

  /** The person named by `login_hint` comes first. */
  const findPeople = async ({ own, open }: Selection): Promise<readonly Person[]> => {
    const hint = open?.request.loginHint
    const everybody = await flow.everybody(own.http)
    if (hint === undefined) return everybody
    return everybody.toSorted((one, other) => Number(isHinted(hint, other)) - Number(isHinted(hint, one)))
  }

  const show = async (selection: Selection, problem?: 'gone'): Promise<Reply> => {
    const { own, open } = selection
    const login = interactions.pageUrl(own.interactionId, 'login')
    const people = await findPeople(selection)
    if (people.length === 0) return redirect(otherAccountUrl(login))
    const hint = open?.request.loginHint
    const client = open && clientOnPage(open.client, open.request.redirectUri)
    const spoken = pagesFor(pages, own.http, open?.request.locale)
    const html = spoken.show(selectPage, {
      action: interactions.pageUrl(own.interactionId, 'select'),
      csrf: csrfOf(own),
      ...(open && client && { client, cancel: true, sealedClient: tagClient(open) }),
      accounts: people.map((person) => ({
        id: person.session.sid,
        name: displayName(person.account, person.session.username),
        secondName: secondName(person),
        isHinted: hint !== undefined && isHinted(hint, person),
      })),
      otherUrl: otherAccountUrl(login),
      ...(problem && { problem }),
    })
    return { ...page(problem === undefined ? 200 : 400, html, spoken.language), images: logoOrigins([client]) }
  }

  const choose = async ({ own, open }: Selection, { cookie, session }: Person): Promise<Reply> => {
    const { http, interactionId } = own
    const before = flow.sessionsOf(http)
    const set = setBrowserSessions(cookies, before, withCurrent(before, cookie), sessionTtlSeconds)
    const { sid, subject: sub } = session
    const trail = { request_id: http.requestId, client_id: open?.client.client_id, sub, sid }
    await audit.record({ event: 'session.selected', ...trail })
    const login = interactions.pageUrl(interactionId, 'login')
    return redirect(withAccount(login, flow.choiceOf(http, interactionId, session)), set)
  }

  const signOut = async ({ own, open }: Selection, person: Person): Promise<Reply> => {
    const { http, interactionId } = own
    const before = flow.sessionsOf(http)
    await endSession(http.requestId, person, open?.client.client_id)
    const set = setBrowserSessions(cookies, before, withoutSessions(before, [person.cookie]), sessionTtlSeconds)
    return redirect(interactions.pageUrl(interactionId, 'select'), set)
  }

  const submit = async (selection: Selection): Promise<Reply> => {
    const { own, open } = selection
    const { http } = own
    checkForm(http)
    const field = (name: string) => http.form.values.get(name)
    if (!isCsrfToken(csrfOf(own), field('csrf'))) return refuseForgery()
    if (open !== undefined && field('decision') === 'cancel')
      return flow.refuse(open, new OAuthError('access_denied', 'The user chose no account.'))
    const id = field('account') ?? field('sign_out')
    if (id === undefined) throw new OAuthError('invalid_request', said('no_account'))
    const person = (await flow.everybody(http)).find(({ session }) => session.sid === id)
    if (person === undefined) return show(selection, 'gone')
    return field('account') === undefined ? signOut(selection, person) : choose(selection, person)
  }

  return async (http) => {
    const own = await getInteraction(http, flow, options)
    const open = own.purpose.request && (await openInteraction(own, options.clients))
    const answer = () => (http.method === 'POST' ? submit({ own, open }) : show({ own, open }))
    return open === undefined ? answer() : leadingBack(open.client, options.issuer, answer, open.request.locale)
  }
}
