import type { JsonObject } from '../../json.js'
import type { Passkey, PersonFactor, TotpFactor } from './person-factor.js'

/** Somebody who is signed in adds a factor at `/account`, after a recent sign-in. */
export interface FactorSetup {
  readonly subject: string
  /** What the authenticator shows: the username, or the name of the person. */
  readonly accountName: string
  /** 32 bytes, base64url: made by the core for this person and session. The same in `begin` and `finish`, where it comes once. */
  readonly challenge: string
  /** The browser at which it is made, as a person would call it: `Chrome, Windows`. */
  readonly browser?: string
  /** What the person has already. */
  readonly factors: readonly PersonFactor[]
}

export type FactorResult<Factor extends PersonFactor> =
  | { readonly outcome: 'made'; readonly factor: Factor }
  /** `why` is a constant text, for the audit log alone. */
  | { readonly outcome: 'refused'; readonly why: string }

/** How people add a factor of one kind. The core asks for the sign-in, and stores and audits what is made. */
interface Enrolment<Factor extends Passkey | TotpFactor, Shown> {
  readonly kind: Factor['kind']
  /** What the page needs. `refused`: the answer that `finish` refused a moment ago. Throws `Unavailable`. */
  begin(setup: FactorSetup, refused?: Readonly<Record<string, string>>): Promise<Shown>
  /** `answer`: the fields of the form, untrusted, of any length. Throws `Unavailable`. */
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
