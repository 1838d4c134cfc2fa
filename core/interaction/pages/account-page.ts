import type { BrowserNames } from '../browser-names.js'
import type { PasswordFault } from '../password-strength.js'
import type { DescribedDetail } from '../../oauth/requests/authorization-details.js'
import type { JsonObject } from '../../json.js'
import type { AccountNotice } from './account-notices.js'
import type { ClientOnPage } from './client-on-page.js'

/** A form of the page. Its fields are `csrf`, `action`, and those that the action needs. */
export interface AccountForm {
  readonly url: string
  readonly csrf: string
}

/** A session of the person, possibly in another browser. */
export interface SessionOnPage {
  readonly sid: string
  readonly seen: BrowserNames
  /** When the sign-in was, in seconds since the epoch. */
  readonly since: number
  /** It is the session that is viewing the page. */
  readonly here: boolean
}

/** The form sends `sid` with `action` `end`; without `sid`, the action is `end_others`. */
export interface SessionsOnPage {
  readonly view: 'sessions'
  readonly sessions: readonly SessionOnPage[]
}

/** What a client may do for the person. */
export interface ApplicationOnPage {
  readonly clientId: string
  readonly client: ClientOnPage
  readonly scopes: readonly string[]
  readonly claims: readonly string[]
  readonly resources: readonly string[]
  readonly details: readonly DescribedDetail[]
  /** The number of details that are not shown. */
  readonly moreDetails: number
  /**
   * When the oldest grant that is still valid was given, in seconds since the epoch. Absent when the client has only
   * remembered consent.
   */
  readonly since?: number
  /** The operator lets the client in without asking the person. */
  readonly returns: boolean
}

/** The form sends `client_id`, with `action` `withdraw`. */
export interface ApplicationsOnPage {
  readonly view: 'applications'
  readonly applications: readonly ApplicationOnPage[]
}

/** What a client asks the person for on a device (CIBA). */
export interface ApprovalOnPage {
  readonly id: string
  readonly client: ClientOnPage
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  readonly details: readonly DescribedDetail[]
  /** The number of details that are not shown. */
  readonly moreDetails: number
  /** The text by which a person tells requests apart (`binding_message`). It is untrusted. */
  readonly message?: string
  /** This and `expiresAt` are in seconds since the epoch. */
  readonly since: number
  readonly expiresAt: number
}

/** The form sends `approval`, with `action` `deny`. */
export interface ApprovalsOnPage {
  readonly view: 'approvals'
  readonly approvals: readonly ApprovalOnPage[]
}

/** A device or service of the person that has enrolled a key. */
export interface DeviceOnPage {
  readonly id: string
  /** This is the untrusted `principal_id`. */
  readonly name: string
  readonly type: 'device' | 'service'
  /** When it was enrolled. This and the other times are in seconds since the epoch. */
  readonly since: number
  readonly renewedAt?: number
  readonly revokedAt?: number
}

/** The form sends `device`, with `action` `revoke`. */
export interface DevicesOnPage {
  readonly view: 'devices'
  readonly devices: readonly DeviceOnPage[]
  /** Seconds for which others may still accept what a device has just been issued. */
  readonly attestationTtlSeconds: number
}

/**
 * Why the password was not changed. A `fault` that is a string completes a sentence that begins with "The new
 * password".
 */
export type PasswordProblem =
  | { readonly kind: 'wrong' | 'different' }
  | { readonly kind: 'locked'; readonly retryAfterSeconds: number }
  | { readonly kind: 'unacceptable'; readonly fault: string | PasswordFault }

/**
 * The form sends `new_password`, `new_password_again` and, unless it `isReset`, `current_password`, with `action`
 * `change`. It is shown only on the page of this part.
 */
export interface PasswordOnPage {
  readonly view: 'password'
  /** The operator sets the password, so there is no form. */
  readonly isFixed: boolean
  /** The person came by a recovery link, so the current password is not asked for. */
  readonly isReset?: true
  /** The username as it was typed at the sign-in, for password managers. It is untrusted. */
  readonly username?: string
  readonly problem?: PasswordProblem
}

/** A passkey of the person. */
export interface PasskeyOnPage {
  readonly id: string
  /** The name that the person gave it. It is untrusted. */
  readonly name: string
  /** This and the other time are in seconds since the epoch. */
  readonly since: number
  readonly lastUsedAt?: number
  /** It is also on other devices of the person. */
  readonly isSynced: boolean
}

/**
 * The forms send `factor` with `action` `remove`, or with `name` and `action` `rename`. The form for a new one sends
 * `name`, `challenge`, and `answer`, which the script of the page fills in, with `action` `add`.
 */
export interface PasskeysOnPage {
  readonly view: 'passkeys'
  readonly passkeys: readonly PasskeyOnPage[]
  /**
   * The options from which the browser creates another one. Absent when the limit is reached. It is shown only on the
   * page of this part.
   */
  readonly setup?: { readonly options: JsonObject; readonly challenge: string }
  readonly problem?: 'refused' | 'known'
}

/**
 * The authenticator app. Without one, the form sends `setup` and `code`, with `action` `add`. With one, `action`
 * `renew` creates new recovery codes and `remove` removes the app.
 */
export interface TotpOnPage {
  readonly view: 'totp'
  /** Times are in seconds since the epoch. `left` is the number of unused recovery codes. */
  readonly app?: { readonly since: number; readonly lastUsedAt?: number; readonly left: number }
  /** The secret in base32, and its otpauth URI, which the page draws as a QR code. */
  readonly setup?: { readonly secret: string; readonly uri: string; readonly setup: string }
  /** Recovery codes, which are shown only this once. */
  readonly codes?: readonly string[]
  readonly problem?: 'wrong'
}

/** The content of one part of the page. A further sign-in method adds a member, and its view `account-{view}.eta`. */
export type SectionOnPage =
  SessionsOnPage | ApplicationsOnPage | ApprovalsOnPage | DevicesOnPage | PasswordOnPage | PasskeysOnPage | TotpOnPage

/** Links to the rest of a part, by an absolute URL. */
interface MoreOnPage {
  readonly next?: string
}

/** `GET /account`, or only one part of it. */
export interface AccountPage {
  /** The person who is signed in, and where another person can sign in instead. */
  readonly account: { readonly name: string; readonly otherUrl?: string }
  /** The whole page, shown as a link on the page of one part. */
  readonly url: string
  readonly isPart: boolean
  /** With `recovery`, it ends the recovery session. */
  readonly signOut: AccountForm
  /** The person came by a recovery link and has until this time, in seconds since the epoch. */
  readonly recovery?: { readonly expiresAt: number }
  /** The parts in the order of the page. */
  readonly sections: readonly (SectionOnPage & MoreOnPage & { readonly form: AccountForm })[]
  /** The action that has just been done. */
  readonly notice?: AccountNotice
  /** The current time in seconds since the epoch, present with a notice. */
  readonly now?: number
}
