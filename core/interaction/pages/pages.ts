import type { JsonObject } from '../../json.js'
import type { DescribedDetail } from '../../oauth/requests/authorization-details.js'
import type { LanguageWishes } from '../languages/choose-language.js'
import type { Said } from '../../oauth/said.js'
import type { AccountPage } from './account-page.js'
import type { ClientOnPage } from './client-on-page.js'

/** A form that the person sends back to us. */
interface FormPage {
  /** Where the form is posted to: an absolute URL of this issuer. */
  readonly action: string
  /** Value of the hidden field `csrf`. */
  readonly csrf: string
}

/** A form that a client waits for. */
interface ClientFormPage extends FormPage {
  /** Value of the hidden field `client`: whose form it is, should nothing else know any more when it comes back. */
  readonly sealedClient?: string | undefined
}

/** Somebody who is signed in in this browser, on the page where one of them is chosen. */
export interface ChoiceOnPage {
  /** What the buttons of this person send. */
  readonly id: string
  readonly name: string
  /** Tells people of the same name apart. */
  readonly secondName?: string | undefined
  /** The client has this person in mind. */
  readonly isHinted: boolean
}

/** Fields `csrf`, and one of `account` and `sign_out` with the id of a person; or `decision`: `cancel`. */
export interface SelectPage extends ClientFormPage {
  /** Absent where no client waits. */
  readonly client?: ClientOnPage
  readonly accounts: readonly ChoiceOnPage[]
  /** Where somebody else signs in. */
  readonly otherUrl: string
  /** The account that was chosen is signed in no more. */
  readonly problem?: 'gone'
  readonly cancel?: boolean
}

/**
 * Why a method signed nobody in. `again`: what was sent was right, and something changed meanwhile. `late`: what was sent was used
 * before, or is over.
 */
export type SignInProblem = 'wrong' | 'locked' | 'again' | 'late' | 'unavailable'

/** A way to sign in. Its form has the fields `method`, and `attempt` where it has one; `begin` asks for another one. */
export interface MethodOnPage {
  readonly id: string
  /** What its button says, by language; absent: the id. */
  readonly title?: Readonly<Record<string, string>>
  /** An https address. */
  readonly logo?: string
  /** Fields `username` and `password`, a field `code`, a browser API whose answer is the field `answer`, or a button. */
  readonly ask:
    | { readonly kind: 'password' | 'button' }
    | { readonly kind: 'code'; readonly recoveryCodes?: true }
    | { readonly kind: 'ceremony'; readonly options: JsonObject }
  readonly attempt?: string | undefined
  readonly problem?: SignInProblem
  /** With `locked`: how long until the next attempt counts. */
  readonly retryAfterSeconds?: number
}

/** Fields `csrf`, and those of a method; button `#login-submit` for the one in front. */
export interface LoginPage extends ClientFormPage {
  readonly client?: ClientOnPage
  /** What the sign-in is for where no client waits; `confirmation`: the person is signed in, and not since a moment ago. */
  readonly purpose?: 'device' | 'account' | 'confirmation'
  /** What to write into the field `username`: `login_hint`, or what was typed before. Untrusted. */
  readonly username?: string | undefined
  /** The one in front first. */
  readonly methods: readonly MethodOnPage[]
  /** The first method is passed: the one on the page comes after it. */
  readonly isSecond?: boolean
  /** Whose second factor it is. */
  readonly account?: AccountOnPage
  /** Buttons that ask for another second factor; fields `attempt`, `instead_of` and `method`. */
  readonly instead?: readonly Pick<MethodOnPage, 'id' | 'title'>[]
  /** The second factor that was asked for instead, and that the person does not have. */
  readonly notSetUp?: Pick<MethodOnPage, 'id' | 'title'>
  /** Where `Cancel` leads where no client waits: a URL of this issuer. */
  readonly leaveUrl?: string
  /** Offer a button with `name="decision" value="cancel"` that needs no username or password. */
  readonly cancel?: boolean
}

/** Who is signed in. */
interface AccountOnPage {
  readonly name: string
  /** Where somebody else signs in instead; absent where the client asks for this account alone. */
  readonly otherUrl?: string
}

/** Fields `csrf`, and `decision`: button `#consent-allow` sends `allow`, `#consent-deny` sends `deny`. */
export interface ConsentPage extends ClientFormPage {
  readonly client: ClientOnPage
  readonly account: AccountOnPage
  readonly scopes: readonly string[]
  /** Names of single claims that the client asks for beside the scopes (OIDC Core §5.5). */
  readonly claims: readonly string[]
  /** Resource servers that the client asks tokens for (RFC 8707). */
  readonly resources: readonly string[]
  /** What the client asks for by `authorization_details` (RFC 9396), in words. */
  readonly details?: readonly DescribedDetail[]
}

/** Where the code of a device is typed (RFC 8628 §3.3). Fields `csrf`, `user_code`; button `#device-continue`. */
export interface DevicePage extends FormPage {
  readonly account: AccountOnPage
  /** What to write into the field `user_code`: what was typed, or came with the address. Untrusted. */
  readonly userCode?: string
  readonly problem?: 'wrong' | 'locked'
  /** With `locked`: how long until the next attempt counts. */
  readonly retryAfterSeconds?: number
}

/**
 * What a device asks for. Fields `csrf`, `user_code`, and `decision`: button `#device-approve` sends `approve`,
 * `#device-deny` sends `deny`.
 */
export interface DeviceConfirmPage extends FormPage {
  readonly client: ClientOnPage
  readonly account: AccountOnPage
  /** As the device shows it: `BCDF-GHJK`. */
  readonly userCode: string
  readonly scopes: readonly string[]
  readonly resources: readonly string[]
  /** Where the device was when it asked; `here`: it has the address of the person's browser. */
  readonly place: { readonly address: string; readonly here: boolean }
}

export interface DeviceResultPage {
  /** The first two answer a decision; of the others there is nothing to decide any more. */
  readonly outcome: 'approved' | 'denied' | 'expired' | 'used' | 'denied_before'
  /** With the first two: whose device it is. */
  readonly client?: ClientOnPage
  /** Where another code can be typed. */
  readonly startUrl: string
}

/**
 * Asks a person whether to sign out. Field `csrf`, and `parameters` again; buttons `#logout-confirm`, and `#logout-all`, which
 * sends `accounts`: `all`.
 */
export interface LogoutPage extends FormPage {
  readonly client?: ClientOnPage
  readonly account: AccountOnPage
  /** Names of others who are signed in in this browser. */
  readonly others: readonly string[]
  /** Of the request. Untrusted. */
  readonly parameters: Readonly<Record<string, string>>
}

export interface SignedOutPage {
  /** The client that sent the person. */
  readonly client?: ClientOnPage
  /** Where the client begins a sign-in. */
  readonly backUrl?: string
  /** Where a client that registered itself wants the browser: in any scheme that it registered. */
  readonly returnUrl?: string
  /** Who is still signed in in this browser. Field `csrf`; button `#logout-all`. */
  readonly others?: FormPage & { readonly names: readonly string[] }
}

/** What a recovery link leads to. Fields `csrf` and `link`; button `#recovery-continue` uses the link up. */
export interface RecoveryPage extends FormPage {
  readonly account: AccountOnPage
  readonly link: string
}

export interface ErrorPage {
  readonly status: number
  /** The message says what to do, and the page gives no further advice. */
  readonly isAdvised?: boolean
  /** The heading. A string is English, for developers, as the message may be. */
  readonly title: string | Said
  readonly message: string | Said
  readonly requestId: string
  /** The client that sent the person. Untrusted. */
  readonly clientName?: string | undefined
  /** The client whose look the page has. */
  readonly clientId?: string | undefined
  /** Where the client begins. */
  readonly backUrl?: string | undefined
  /** Where the person can sign out. */
  readonly signOutUrl?: string | undefined
  /** What helps a developer, by the names of parameters and metadata; `hint` is English. Untrusted. */
  readonly facts?: Readonly<Record<string, string | undefined>> | undefined
  /** The error code, for developers. */
  readonly error?: string
}

/** Asks before the browser goes on to a client that registered itself, at which nobody has acted yet. `#leaving-continue`. */
export interface LeavingPage {
  readonly client: ClientOnPage
  /** Where the link leads, or `parameters` are posted: in any scheme that the client registered. */
  readonly url: string
  readonly parameters?: Readonly<Record<string, string>>
}

/** A page that posts `parameters` to the client at once, by script or by its button (OAuth 2.0 Form Post Response Mode §2). */
export interface FormPostPage {
  /** The client whose look the page has. */
  readonly clientId?: string
  /** The redirect URI: any scheme that the client registered. */
  readonly action: string
  /** `action` is an address of ours: nobody is sent back to an application. */
  readonly isOurs?: true
  /** In this order. Values are untrusted: `state` is whatever the client sent. */
  readonly parameters: Readonly<Record<string, string>>
}

/** The pages in one language. Each returns a whole HTML document that works without JavaScript; every value is escaped. */
export interface SpokenPages {
  /** A language tag (RFC 5646), for `Content-Language`. */
  readonly language: string
  select(page: SelectPage): string
  login(page: LoginPage): string
  consent(page: ConsentPage): string
  device(page: DevicePage): string
  deviceConfirm(page: DeviceConfirmPage): string
  deviceResult(page: DeviceResultPage): string
  logout(page: LogoutPage): string
  signedOut(page: SignedOutPage): string
  account(page: AccountPage): string
  recovery(page: RecoveryPage): string
  error(page: ErrorPage): string
  formPost(page: FormPostPage): string
  leaving(page: LeavingPage): string
}

/** The built-in pages. By themselves they speak the first language of the deployment. */
export interface Pages extends SpokenPages {
  /** Those in the language that fits best. */
  for(wishes: LanguageWishes): SpokenPages
}
