import type { SectionOnPage } from '../../interaction/pages/account-page.js'
import type { AccountNotice } from '../../interaction/pages/account-notices.js'
import type { FoundRecovery } from '../../interaction/recovery/recovery-sessions.js'
import type { Person } from '../authorization-flow/people.js'
import type { EndpointRequest } from '../message.js'

/** A person at their account page. */
export interface AccountContext {
  readonly http: EndpointRequest
  readonly person: Person
  /**
   * Set if the person came through a recovery link and is not signed in: `person.session` is derived from it and not
   * stored.
   */
  readonly recovery?: FoundRecovery
}

/** The person who acted, for the audit log. */
export const auditContextOf = ({ http, person: { session }, recovery }: AccountContext) => ({
  ...{ request_id: http.requestId, sub: session.subject, by_sid: session.sid, ...(recovery && { recovery: true }) },
})

/** Some of the rows, and where the rest starts. */
export interface Shown {
  readonly section: SectionOnPage
  readonly next?: string | undefined
}

export type Outcome =
  /** Done, or there was nothing to do; the page says which. */
  | { readonly notice: AccountNotice; readonly cookies?: readonly string[] }
  /** Not done: the section is shown again with the reason. */
  | { readonly status: number; readonly section: SectionOnPage; readonly retryAfterSeconds?: number }

/** Handles a form of the page. Throws `OAuthError` for input that our pages never send, and `Unavailable`. */
export type Action = (context: AccountContext) => Promise<Outcome>

/** An action that requires a recent sign-in. */
export interface GuardedAction {
  readonly afterRecentSignIn: Action
}

/** One section of `/account`: what a person has of one kind, and what they can do with it. */
export interface AccountSection {
  /** The name in its address, `/account/{name}`, which its forms are posted to. */
  readonly name: SectionOnPage['view']
  /** Whether its page itself requires a recent sign-in. */
  readonly asksAgain?: true
  /** Whether it is also shown to the holder of a recovery link. */
  readonly inRecovery?: true
  /** `after` is the `next` of the previous page. Throws `Unavailable`. */
  show(context: AccountContext, after: string | undefined): Promise<Shown>
  /** Keyed by the field `action`. */
  readonly actions: ReadonlyMap<string, Action | GuardedAction>
}

/** Rows of one kind on one page. */
export const maxRows = 50
