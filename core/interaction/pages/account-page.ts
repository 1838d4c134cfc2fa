import type { BrowserNames } from '../browser-names.js'
import type { PasswordFault } from '../password-strength.js'
import type { DescribedDetail } from '../../oauth/requests/authorization-details.js'
import type { JsonObject } from '../../json.js'
import type { AccountNotice } from './account-notices.js'
import type { ClientOnPage } from './client-on-page.js'

/** A form of the page: its fields are `csrf`, `action`, and what the action is about. */
export interface AccountForm {
  readonly url: string
  readonly csrf: string
}

/** A session of the person, in a browser that may be another one. */
export interface SessionOnPage {
  readonly sid: string
  readonly seen: BrowserNames
  /** Of the sign-in: seconds since the epoch. */
  readonly since: number
  /** It is the one that looks at the page. */
  readonly here: boolean
}

/** Fields `sid` with `action` `end`; without it `end_others`. */
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
  /** Of details: how many are not shown. */
  readonly moreDetails: number
  /** When the first of what is still granted was: seconds since the epoch. Absent: it need only not ask again. */
  readonly since?: number
  /** The operator lets it in without asking the person. */
  readonly returns: boolean
}

/** Fields `client_id`, with `action` `withdraw`. */
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
  /** Of details: how many are not shown. */
  readonly moreDetails: number
  /** The text by which a person tells requests apart (`binding_message`). Untrusted. */
  readonly message?: string
  /** Seconds since the epoch, as `expiresAt`. */
  readonly since: number
  readonly expiresAt: number
}

/** Fields `approval`, with `action` `deny`. */
export interface ApprovalsOnPage {
  readonly view: 'approvals'
  readonly approvals: readonly ApprovalOnPage[]
}

/** A device or service of the person that has enrolled a key. */
export interface DeviceOnPage {
  readonly id: string
  /** `principal_id`. Untrusted. */
  readonly name: string
  readonly type: 'device' | 'service'
  /** Of the enrolment: seconds since the epoch, as the others. */
  readonly since: number
  readonly renewedAt?: number
  readonly revokedAt?: number
}

/** Fields `device`, with `action` `revoke`. */
export interface DevicesOnPage {
  readonly view: 'devices'
  readonly devices: readonly DeviceOnPage[]
  /** Seconds for which others may accept what a device has got just now. */
  readonly attestationTtlSeconds: number
}

/** Why the password was not changed. A `fault` that is a string ends a sentence that begins with "The new password". */
export type PasswordProblem =
  | { readonly kind: 'wrong' | 'different' }
  | { readonly kind: 'locked'; readonly retryAfterSeconds: number }
  | { readonly kind: 'unacceptable'; readonly fault: string | PasswordFault }

/**
 * Fields `new_password`, `new_password_again` and, unless it `isReset`, `current_password`, with `action` `change`; shown in the
 * part alone.
 */
export interface PasswordOnPage {
  readonly view: 'password'
  /** The operator sets it: there is no form. */
  readonly isFixed: boolean
  /** The person came by a recovery link: nobody asks for the current one. */
  readonly isReset?: true
  /** For password managers: as it was typed at the sign-in. Untrusted. */
  readonly username?: string
  readonly problem?: PasswordProblem
}

/** A passkey of the person. */
export interface PasskeyOnPage {
  readonly id: string
  /** As the person called it. Untrusted. */
  readonly name: string
  /** Seconds since the epoch, as the other. */
  readonly since: number
  readonly lastUsedAt?: number
  /** It is on other devices of the person too. */
  readonly isSynced: boolean
}

/**
 * Fields `factor`, with `action` `remove`, or with `name` and `action` `rename`; and those of a new one, with `action` `add`:
 * `name`, `challenge`, and `answer`, which the script of the page fills in.
 */
export interface PasskeysOnPage {
  readonly view: 'passkeys'
  readonly passkeys: readonly PasskeyOnPage[]
  /** What the browser makes another one of; absent: there are as many as there can be. In the part alone. */
  readonly setup?: { readonly options: JsonObject; readonly challenge: string }
  readonly problem?: 'refused' | 'known'
}

/**
 * The app of one-time passwords. Without one: fields `setup` and `code`, with `action` `add`. With one: `action` `renew` makes
 * other recovery codes, `remove` removes it.
 */
export interface TotpOnPage {
  readonly view: 'totp'
  /** Times are seconds since the epoch; `left`: how many recovery codes there are. */
  readonly app?: { readonly since: number; readonly lastUsedAt?: number; readonly left: number }
  /** Base32, and an otpauth URI of it, which the page draws. */
  readonly setup?: { readonly secret: string; readonly uri: string; readonly setup: string }
  /** Recovery codes, shown this once. */
  readonly codes?: readonly string[]
  readonly problem?: 'wrong'
}

/** What one part of the page shows. A further sign-in method adds a member, and its view `account-{view}.eta`. */
export type SectionOnPage =
  SessionsOnPage | ApplicationsOnPage | ApprovalsOnPage | DevicesOnPage | PasswordOnPage | PasskeysOnPage | TotpOnPage

/** Where the rest of a part is: an absolute URL. */
interface MoreOnPage {
  readonly next?: string
}

/** `GET /account`, and a part of it alone. */
export interface AccountPage {
  /** Who is signed in, and where somebody else signs in instead. */
  readonly account: { readonly name: string; readonly otherUrl?: string }
  /** The whole page; shown as a link where this is a part of it. */
  readonly url: string
  readonly isPart: boolean
  /** With `recovery`, it ends that. */
  readonly signOut: AccountForm
  /** The person came by a recovery link, and has until then: seconds since the epoch. */
  readonly recovery?: { readonly expiresAt: number }
  /** In the order of the page. */
  readonly sections: readonly (SectionOnPage & MoreOnPage & { readonly form: AccountForm })[]
  /** What has just been done. */
  readonly notice?: AccountNotice
  /** With a notice: seconds since the epoch. */
  readonly now?: number
}
