import type { Account, AccountLookup } from '../oauth/account.js'

export type LoginResult =
  | { readonly outcome: 'passed'; readonly subject: string; readonly amr: readonly string[]; readonly acr?: string }
  /** Wrong, unknown or disabled: nobody can tell which. `subject` names the account for the audit log alone. */
  | { readonly outcome: 'refused'; readonly subject?: string | undefined }
  | { readonly outcome: 'locked'; readonly retryAfterSeconds: number; readonly subject?: string | undefined }

/** Where a sign-in comes from: what a login provider counts guesses under. */
export interface LoginOrigin {
  /** The caller's address, through trusted proxies only. */
  readonly address: string
  /**
   * An id of the browser, present when somebody has signed in in it before under the very username that was typed. Guesses
   * of such a browser are counted under it, so that strangers, who fill the count of the name, do not lock it out.
   */
  readonly knownBrowser?: string
}

/** What somebody who is signed in has typed to change the password. Untrusted, of any length. */
export interface PasswordChangeRequest {
  /** `sub` of the account whose session it is. */
  readonly subject: string
  readonly current: string
  readonly next: string
}

/** What a login provider says of a change of the password. The core does the rest. */
export type PasswordDecision =
  /**
   * The current password is right, and the other one will do. Nothing has changed yet: the core ends what sign-ins have opened,
   * calls `apply`, and ends what was opened meanwhile.
   */
  | {
      readonly outcome: 'allowed'
      /**
       * Puts the new password in force, for one caller: false when the account has another password by now, or has gone. Throws
       * `Unavailable`.
       */
      readonly apply: () => Promise<boolean>
    }
  /** The current password is wrong. */
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'locked'; readonly retryAfterSeconds: number }
  /**
   * The current password is right, and the other one will not do. `fault` is shown to the person: the end of an English sentence
   * that begins with "The new password" (`must have at least 8 characters`). It repeats nothing of a password.
   */
  | { readonly outcome: 'unacceptable'; readonly fault: string }

/** Who the user is: `plugins/login/…`. */
export interface LoginProvider extends AccountLookup {
  /** Every value that `amr` can have (RFC 8176). With it `signet check` finds an `acr` that nobody could reach. */
  readonly methods?: readonly string[]
  /** Checks what the login page's form carried. Takes the same time whatever is wrong. Throws `Unavailable`. */
  authenticate(
    credentials: { readonly username: string; readonly password: string },
    from: LoginOrigin,
    signal: AbortSignal,
  ): Promise<LoginResult>
  /**
   * The account that somebody who signs in calls by this name, of any length; undefined when there is none, or it is disabled. With
   * it, clients of CIBA name people as they name themselves. Throws `Unavailable`.
   */
  findByUsername?(username: string, signal: AbortSignal): Promise<Account | undefined>
  /**
   * Decides whether a person may have the new password. Absent: people change no password at `/account`. Guesses at the current
   * one count together with the sign-ins of that account from that origin, and take the same time. Not called for an account
   * with `passwordFixed`. Throws `Unavailable`; then nothing has changed.
   */
  changePassword?(request: PasswordChangeRequest, from: LoginOrigin, signal: AbortSignal): Promise<PasswordDecision>
}
