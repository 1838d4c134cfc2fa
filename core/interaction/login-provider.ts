import type { AccountLookup } from '../oauth/account.js'

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
}
