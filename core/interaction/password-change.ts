import type { PasswordFault } from './password-strength.js'
import type { LoginOrigin } from './sign-in-method.js'

/** What a signed-in person has typed to change the password. It is untrusted and of any length. */
export interface PasswordChangeRequest {
  /** The `sub` of the account whose session it is. */
  readonly subject: string
  readonly current: string
  readonly next: string
}

/** A plugin's decision about a change of the password. The core does the rest. */
export type PasswordDecision =
  /**
   * The current password is right and the new one is acceptable. Nothing has changed yet: the core ends what sign-ins
   * have opened, calls `apply`, and ends what was opened in the meantime.
   */
  | {
      readonly outcome: 'allowed'
      /**
       * Puts the new password in force, for one caller. Returns false when the account has another password by now,
       * or is gone. Throws `Unavailable`.
       */
      readonly apply: () => Promise<boolean>
    }
  /** The current password is wrong. */
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'locked'; readonly retryAfterSeconds: number }
  /**
   * The current password is right, but the new one is not acceptable. `fault` is shown to the person: what
   * `findPasswordFault` has found, or the end of an English sentence that begins with "The new password" (`must not
   * be one of your last five`). It repeats no part of a password.
   */
  | { readonly outcome: 'unacceptable'; readonly fault: string | PasswordFault }

/**
 * Decides whether a person may have the new password. Without it, people cannot change their password at `/account`.
 * Guesses at the current one count together with the sign-ins of that account from that origin, and take the same
 * time. It is not called for an account with `passwordFixed`. Throws `Unavailable`; then nothing has changed.
 */
export type PasswordChange = (
  request: PasswordChangeRequest,
  from: LoginOrigin,
  signal: AbortSignal,
) => Promise<PasswordDecision>

/**
 * Decides whether a person who came by a recovery link of the operator may have this password, without the current
 * one. Nothing is guessed, so nothing is counted, and `apply` clears the count of guesses at the old one. `refused`
 * means that the account is gone. Without it, people cannot set a password by a link. It is not called for an account
 * with `passwordFixed`. Throws `Unavailable`; then nothing has changed.
 */
export type PasswordReset = (
  request: Pick<PasswordChangeRequest, 'subject' | 'next'>,
  signal: AbortSignal,
) => Promise<Exclude<PasswordDecision, { readonly outcome: 'locked' }>>
