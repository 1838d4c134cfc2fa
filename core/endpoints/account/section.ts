import type { SectionOnPage } from '../../interaction/pages/account-page.js'
import type { AccountNotice } from '../../interaction/pages/account-notices.js'
import type { FoundRecovery } from '../../interaction/recovery/recovery-sessions.js'
import type { Person } from '../authorization-flow/people.js'
import type { EndpointRequest } from '../message.js'

/** A person at their own page. */
export interface Visit {
  readonly http: EndpointRequest
  readonly person: Person
  /** The person is not signed in, but came by a recovery link: `person.session` is made of that, and stored nowhere. */
  readonly recovery?: FoundRecovery
}

/** Who did something, as the audit log has it. */
export const trailOf = ({ http, person: { session }, recovery }: Visit) => ({
  ...{ request_id: http.requestId, sub: session.subject, by_sid: session.sid, ...(recovery && { recovery: true }) },
})

/** Some of what there is, and where the rest begins. */
export interface Shown {
  readonly section: SectionOnPage
  readonly next?: string | undefined
}

export type Outcome =
  /** Done, or there was nothing to do: the page says so. */
  | { readonly notice: AccountNotice; readonly cookies?: readonly string[] }
  /** Not done: the part is shown again and says why. */
  | { readonly status: number; readonly section: SectionOnPage; readonly retryAfterSeconds?: number }

/** What a form of the page asks for. Throws `OAuthError` for what no page of ours sends; `Unavailable`. */
export type Action = (visit: Visit) => Promise<Outcome>

/** Asked first whether the person has signed in a moment ago. */
export interface GuardedAction {
  readonly afterRecentSignIn: Action
}

/** One part of `/account`: what a person has of one kind, and what they may do about it. */
export interface AccountSection {
  /** In its address, `/account/{name}`, to which its forms are posted. */
  readonly name: SectionOnPage['view']
  /** Its own page is shown after a recent sign-in alone. */
  readonly asksAgain?: true
  /** It is there for somebody who came by a recovery link, too. */
  readonly inRecovery?: true
  /** `after` is the `next` of the page before. Throws `Unavailable`. */
  show(visit: Visit, after: string | undefined): Promise<Shown>
  /** By the field `action`. */
  readonly actions: ReadonlyMap<string, Action | GuardedAction>
}

/** Rows of one kind on one page. */
export const mostRows = 50
