import { readBrowserSessions, type BrowserSessions } from '../../interaction/browser-sessions.js'
import type { Cookies } from '../../interaction/cookies.js'
import { csrfToken, isCsrfToken } from '../../interaction/csrf.js'
import type { FoundSession, Session, Sessions } from '../../interaction/session.js'
import { canonicalUsername } from '../../interaction/username.js'
import { displayName, type Account } from '../../oauth/subjects/account.js'
import type { AuthorizationRequest } from '../../oauth/requests/authorization-request.js'
import type { Client } from '../../oauth/clients/client.js'
import { signInOf } from '../../oauth/subjects/subject-end.js'
import type { EndpointRequest } from '../message.js'
import type { CommonOptions, SignInMethods, SignInRecords } from './options.js'

/** A signed-in person. */
export interface Person extends FoundSession {
  readonly account: Account
}

/** The parts of a client's request that say whom it is for. */
export interface RequestTarget {
  readonly http: EndpointRequest
  readonly client: Client
  readonly request: AuthorizationRequest
  /** Undefined before an interaction has started. */
  readonly interactionId?: string
}

/** The people signed in in a browser. Everything throws `Unavailable`. */
export interface People {
  /** The sessions that the browser sent, existing or not. */
  sessionsOf(http: EndpointRequest): BrowserSessions
  /** The current person. Also undefined when the account is gone or the sign-in was ended. */
  signedIn(http: EndpointRequest): Promise<Person | undefined>
  /** The people of these sessions, by default of all that the browser sent: the current one first, each once. */
  everybody(http: EndpointRequest, browser?: BrowserSessions): Promise<readonly Person[]>
  /**
   * The person that a request is for: the one chosen for it, otherwise the one the client requires, otherwise the
   * current one. A store is asked for others only if the current one does not fit.
   */
  personFor(asked: RequestTarget): Promise<{ readonly person: Person | undefined; readonly isChosen: boolean }>
  /**
   * A value for addresses that stands for the choice of this person in this interaction. It only works in this
   * browser.
   */
  choiceOf(http: EndpointRequest, interactionId: string, session: Session): string
}

type PeopleOptions = Pick<SignInMethods, 'accounts'> &
  Pick<SignInRecords, 'revocations'> &
  Pick<CommonOptions, 'subjects'> & {
    readonly cookies: Cookies
    readonly sessions: Sessions
  }

export const createPeople = ({ accounts, revocations, subjects, cookies, sessions }: PeopleOptions): People => {
  const sessionsOf: People['sessionsOf'] = (http) => readBrowserSessions(cookies, (name) => http.cookie(name))

  const personOf = async (found: FoundSession, signal: AbortSignal): Promise<Person | undefined> => {
    const { subject, authTime } = found.session
    const [account, isOver] = await Promise.all([
      accounts.find(subject, signal),
      revocations.isRevoked([], signInOf(subject, authTime)),
    ])
    return account && !isOver ? { ...found, account } : undefined
  }

  const everybody: People['everybody'] = async (http, browser = sessionsOf(http)) => {
    const found = await sessions.findAll(browser)
    const people = await Promise.all(found.map((session) => personOf(session, http.signal)))
    const bySubject = new Map<string, Person>()
    for (const person of people)
      if (person !== undefined && !bySubject.has(person.session.subject)) bySubject.set(person.session.subject, person)
    return [...bySubject.values()]
  }

  const signedIn: People['signedIn'] = async (http) => {
    const [current] = await everybody(http, { ...sessionsOf(http), others: [] })
    return current
  }

  const choiceOf: People['choiceOf'] = (http, interactionId, { sid, subject }) =>
    csrfToken(http.cookie(cookies.browser) ?? '', interactionId, `chosen\n${sid}\n${subject}`)

  return {
    sessionsOf,
    signedIn,
    choiceOf,
    everybody,
    async personFor({ http, client, request, interactionId }) {
      // An interaction is opened in the browser that has its cookie.
      const choice = interactionId === undefined ? undefined : http.query.values.get('account')
      const isChosen = ({ session }: Person): boolean =>
        interactionId !== undefined && isCsrfToken(choiceOf(http, interactionId, session), choice)
      const current = await signedIn(http)
      if (current !== undefined && isChosen(current)) return { person: current, isChosen: true }
      const isDemanded = ({ session }: Person): boolean => request.subject === subjects.seenBy(client, session.subject)
      if (choice === undefined && (request.subject === undefined || (current !== undefined && isDemanded(current))))
        return { person: current, isChosen: false }
      const others = await everybody(http, { current: undefined, others: sessionsOf(http).others })
      const chosen = others.find(isChosen)
      if (chosen !== undefined) return { person: chosen, isChosen: true }
      return { person: others.find(isDemanded) ?? current, isChosen: false }
    },
  }
}

/** Whether `login_hint` names this signed-in person. No other account is looked up. */
export const isHinted = (hint: string, { session, account }: Person): boolean => {
  const name = canonicalUsername(hint)
  const { preferred_username: preferred, email } = account.claims
  const names = [session.username, preferred, email].map((text) =>
    typeof text === 'string' ? canonicalUsername(text) : undefined,
  )
  return name !== undefined && names.includes(name)
}

/** What distinguishes people with the same name, if anything does. */
export const secondName = ({ session, account }: Person): string | undefined => {
  const { email } = account.claims
  return [session.username, email].find(
    (name) => typeof name === 'string' && name !== displayName(account, session.username),
  ) as string | undefined
}
