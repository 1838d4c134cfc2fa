import type { JsonObject } from '../../json.js'
import type { Passkey, PersonFactor, TotpFactor } from './person-factor.js'

/** A signed-in person adds a factor at `/account`, after a recent sign-in. */
export interface FactorSetup {
  readonly subject: string
  /** The name that the authenticator shows: the username, or the name of the person. */
  readonly accountName: string
  /**
   * 32 bytes, base64url, made by the core for this person and session. `begin` and `finish` get the same value, and
   * it reaches `finish` only once.
   */
  readonly challenge: string
  /** The browser in which it is created, as a person would call it: `Chrome, Windows`. */
  readonly browser?: string
  /** The factors that the person already has. */
  readonly factors: readonly PersonFactor[]
}

export type FactorResult<Factor extends PersonFactor> =
  | { readonly outcome: 'made'; readonly factor: Factor }
  /** `why` is a constant text for the audit log only. */
  | { readonly outcome: 'refused'; readonly why: string }

/** Lets people add a factor of one kind. The core demands the sign-in, and stores and audits the new factor. */
interface Enrolment<Factor extends Passkey | TotpFactor, Shown> {
  readonly kind: Factor['kind']
  /** Returns what the page needs. `refused` is the answer that `finish` has just refused. Throws `Unavailable`. */
  begin(setup: FactorSetup, refused?: Readonly<Record<string, string>>): Promise<Shown>
  /** `answer` holds the form fields, which are untrusted and of any length. Throws `Unavailable`. */
  finish(setup: FactorSetup, answer: Readonly<Record<string, string>>): Promise<FactorResult<Factor>>
}

/** Shows `PublicKeyCredentialCreationOptionsJSON` (Web Authentication Level 3 §5.1.9) to the browser; the field `answer` comes back. */
export type PasskeyEnrolment = Enrolment<Passkey, JsonObject>

/** Shows a secret (base32) and an otpauth URI of it. `setup` comes back as a field, with the `code` of the app. */
export type TotpEnrolment = Enrolment<
  TotpFactor,
  { readonly secret: string; readonly uri: string; readonly setup: string }
>

export type FactorEnrolment = PasskeyEnrolment | TotpEnrolment
