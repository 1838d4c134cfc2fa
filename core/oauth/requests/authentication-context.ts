import type { JsonObject, JsonValue } from '../../json.js'
import { OAuthError } from '../errors.js'
import type { RequestedClaims } from '../grants/grant.js'

/** One `acr` of `acr_values_supported`, and the methods of a sign-in that has it (OIDC Core §2, RFC 8176). */
export interface AuthenticationContext {
  readonly acr: string
  /** Values of `amr`. The sign-in must have all of them. */
  readonly methods: readonly string[]
}

/** The contexts in order, the weakest first. */
export type AuthenticationContexts = readonly AuthenticationContext[]

/** The `acr` that a client wants for a sign-in. */
export interface WantedAcr {
  /** The values in order of preference; one of them is enough. Empty: no sign-in can have any of them. */
  readonly values: readonly string[]
  /**
   * True: without such a sign-in the request fails. False: the person is asked to sign in, and any result is
   * accepted.
   */
  readonly essential: boolean
}

interface SignIn {
  readonly amr: readonly string[]
  /** The value from a sign-in method that determines it itself. */
  readonly acr?: string
}

/** Returns the contexts of a sign-in, the strongest first. */
const contextsOf = (contexts: AuthenticationContexts, { amr, acr }: SignIn): readonly string[] => {
  const met = contexts.filter(({ methods }) => methods.every((method) => amr.includes(method))).map((one) => one.acr)
  return [...(acr === undefined ? [] : [acr]), ...met.reverse()]
}

export const isAcrMet = (contexts: AuthenticationContexts, signIn: SignIn, wanted: WantedAcr | undefined): boolean => {
  if (wanted === undefined) return true
  const has = contextsOf(contexts, signIn)
  return wanted.values.some((value) => has.includes(value))
}

/** Returns the `acr` for tokens: the first requested one that the sign-in has, or else the strongest. */
export const acrOf = (
  contexts: AuthenticationContexts,
  signIn: SignIn,
  wanted: WantedAcr | undefined,
): string | undefined => {
  const has = contextsOf(contexts, signIn)
  return wanted?.values.find((value) => has.includes(value)) ?? has[0]
}

export const acrNotAvailable = (): OAuthError =>
  new OAuthError('unmet_authentication_requirements', 'The requested authentication is not available.')

const maxValues = 20

const named = (claim: JsonObject | null | undefined): readonly JsonValue[] | undefined => {
  if (claim?.['value'] !== undefined) return [claim['value']]
  return Array.isArray(claim?.['values']) ? claim['values'] : undefined
}

/**
 * Reads the claim `acr` of the ID token (OIDC Core §5.5.1.1), else `acr_values`, else the client's
 * `default_acr_values`. Values that the deployment does not name are dropped; if it names none, only a sign-in method
 * can know them. Throws `unmet_authentication_requirements` when an essential one cannot be met (RFC 9470 §5), and
 * `invalid_request`.
 */
export const readWantedAcr = (
  contexts: AuthenticationContexts,
  sent: { readonly acrValues: string | undefined; readonly claims: RequestedClaims | undefined },
  defaults: readonly string[] | undefined,
): WantedAcr | undefined => {
  const isKnown = (value: string): boolean => contexts.some(({ acr }) => acr === value)
  const claim = sent.claims?.id_token?.['acr']
  const demanded = named(claim)?.filter((value) => typeof value === 'string')
  if (demanded !== undefined && claim?.['essential'] === true) {
    const values = contexts.length === 0 ? demanded : demanded.filter(isKnown)
    if (values.length === 0) throw acrNotAvailable()
    return { values, essential: true }
  }
  const listed = sent.acrValues?.split(' ').filter(Boolean)
  if (listed !== undefined && listed.length > maxValues)
    throw new OAuthError('invalid_request', 'The parameter acr_values has too many values.')
  const values = [...new Set(demanded ?? listed ?? defaults)].filter(isKnown)
  return values.length === 0 ? undefined : { values, essential: false }
}
