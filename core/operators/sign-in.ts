import { hashOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import type { OneTimeStore } from '../storage/ports.js'
import type { OperatorDirectory } from './directory.js'
import { redeemLink, type OperatorLink } from './links.js'
import type { OidcSignIn } from './oidc.js'
import { oidcName, rolesOfClaim } from './oidc-roles.js'
import { credentialId } from './operator-record.js'
import { isAssertionOf, readAssertion } from './passkeys.js'
import { beginSignIn, takeSignIn, type OperatorSignIn } from './sign-ins.js'
import type { OperatorSession, OperatorSessions } from './sessions.js'
import type { AdminSite } from './site.js'

/** The operator who signed in, with the cookie of the new session; or the reason for a refusal, in constant words for the audit log. */
export type SignInOutcome =
  | { readonly cookie: string; readonly session: Pick<OperatorSession, 'name' | 'proof' | 'credential'> }
  | { readonly refused: string; readonly name?: string }

export interface OperatorSignInOptions {
  readonly directory: OperatorDirectory
  readonly sessions: OperatorSessions
  readonly links: OneTimeStore<OperatorLink>
  readonly begun: OneTimeStore<OperatorSignIn>
  readonly oidc: OidcSignIn
  /** Roles by the values of a claim, as the configuration in force maps them. */
  readonly claimedRoles: () => Readonly<Record<string, string>>
}

/** The ways in which operators sign in in a browser. Methods throw `Unavailable`. */
export interface OperatorSignIns {
  /** Returns the challenge of a passkey. */
  beginPasskey(): Promise<string>
  finishPasskey(site: AdminSite, challenge: string | undefined, answer: string | undefined): Promise<SignInOutcome>
  finishLink(secret: string | undefined): Promise<SignInOutcome>
  /** Returns the address to go to, and the value of a cookie to keep until the answer comes. */
  beginOidc(redirectUri: string, signal: AbortSignal): Promise<{ readonly url: string; readonly browser: string }>
  finishOidc(answer: OidcAnswer, signal: AbortSignal): Promise<SignInOutcome>
}

export interface OidcAnswer {
  readonly redirectUri: string
  /** The query as the issuer sent it. */
  readonly query: string
  readonly state: string | undefined
  /** The value of the cookie. */
  readonly browser: string | undefined
}

export const createOperatorSignIns = (options: OperatorSignInOptions): OperatorSignIns => {
  const { directory, sessions, links, begun, oidc, claimedRoles } = options
  const open = async (opened: Parameters<OperatorSessions['open']>[0]): Promise<SignInOutcome> => ({
    cookie: await sessions.open(opened),
    session: opened,
  })

  const byOidc = async (sub: string, values: readonly string[]): Promise<SignInOutcome> => {
    const found = await directory.findBy((own) => own.kind === 'oidc' && own.sub === sub)
    if (found?.operator.disabled) return { refused: 'the operator is disabled', name: found.operator.name }
    if (found !== undefined) {
      const { name, roles } = found.operator
      return open({ name, roles, proof: 'oidc', credential: credentialId(found.credential) })
    }
    const map = claimedRoles()
    const claimed = values.filter((value) => Object.hasOwn(map, value))
    if (claimed.length === 0) return { refused: 'the person has no role', name: oidcName(sub) }
    return open({ name: oidcName(sub), roles: rolesOfClaim(map, claimed), proof: 'oidc', claimed })
  }

  return {
    beginPasskey: () => beginSignIn(begun, { kind: 'passkey' }),
    async finishPasskey({ origin, hostname: rpId }, challenge, answer) {
      if (challenge === undefined || (await takeSignIn(begun, 'passkey', challenge)) === undefined)
        return { refused: 'the challenge was used, or is too old' }
      const assertion = readAssertion(answer)
      if (assertion === undefined) return { refused: 'the answer is no passkey' }
      const found = await directory.findBy((own) => own.kind === 'passkey' && own.credentialId === assertion.id)
      if (found?.credential.kind !== 'passkey') return { refused: 'the passkey is unknown' }
      const { name, roles, disabled } = found.operator
      if (!(await isAssertionOf(assertion, found.credential, { challenge, origin, rpId })))
        return { refused: 'the signature is not right', name }
      if (disabled) return { refused: 'the operator is disabled', name }
      return open({ name, roles, proof: 'passkey', credential: credentialId(found.credential) })
    },
    async finishLink(secret) {
      const link = await redeemLink(links, secret)
      if (link === undefined) return { refused: 'the link was used, or is too old' }
      const operator = await directory.find(link.name)
      if (operator === undefined || operator.disabled)
        return { refused: 'the operator is disabled or gone', name: link.name }
      return open({ name: link.name, roles: operator.roles, proof: 'link' })
    },
    async beginOidc(redirectUri, signal) {
      const [browser, nonce, verifier] = [newOpaqueToken(), newOpaqueToken(), newOpaqueToken()]
      const state = await beginSignIn(begun, { kind: 'oidc', browser: hashOpaqueToken(browser), nonce, verifier })
      return { url: await oidc.begin(redirectUri, { state, nonce, verifier }, signal), browser }
    },
    async finishOidc({ redirectUri, query, state, browser }, signal) {
      const attempt = await takeSignIn(begun, 'oidc', state)
      if (attempt === undefined || state === undefined) return { refused: 'the state is unknown, or was used' }
      if (browser === undefined || hashOpaqueToken(browser) !== attempt.browser)
        return { refused: 'another browser began this' }
      const person = await oidc.finish(redirectUri, query, { ...attempt, state }, signal)
      return typeof person === 'string' ? { refused: person } : byOidc(person.sub, person.values)
    },
  }
}
