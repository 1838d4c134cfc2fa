import { isCrossOrigin, readNew, readSignIn } from '../interaction/factors/read-credential.js'
import { userHandleOf } from '../interaction/factors/person-factors.js'
import type { JsonObject } from '../json.js'
import type { OperatorPasskey } from './operator-record.js'
import type { AdminSite } from './site.js'

/** EdDSA, ES256 and RS256, which authenticators sign with (RFC 9053, RFC 8812). */
const algorithms = [-8, -7, -257]

/** Milliseconds that the browser waits for the person. */
const timeout = 300_000

/** Browsers have no passkeys for addresses. */
export const hasPasskeys = ({ hostname }: AdminSite): boolean => !/^[\d.]+$|^\[/.test(hostname)

/** The library takes a fifth of a second to load, and only operators in browsers need it. */
const webauthn = () => import('@simplewebauthn/server')

/** `PublicKeyCredentialCreationOptionsJSON` (Web Authentication Level 3 §5.1.9). `challenge` is base64url. */
export const newPasskeyOptions = async (
  { hostname }: AdminSite,
  {
    name,
    challenge,
    known,
  }: { readonly name: string; readonly challenge: string; readonly known: readonly OperatorPasskey[] },
): Promise<JsonObject> => {
  const { generateRegistrationOptions } = await webauthn()
  const made = await generateRegistrationOptions({
    rpName: hostname,
    rpID: hostname,
    // A person of this deployment with the same name keeps their own passkey on the same authenticator.
    userID: new Uint8Array(Buffer.from(userHandleOf(`operator ${name}`), 'base64url')),
    userName: name,
    userDisplayName: name,
    challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
    attestationType: 'none',
    excludeCredentials: known.map(({ credentialId }) => ({ id: credentialId })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
    supportedAlgorithmIDs: algorithms,
  })
  return JSON.parse(JSON.stringify(made)) as JsonObject
}

/** Checks a `RegistrationResponseJSON`. Undefined when it is none of this challenge and site. */
export const readNewPasskey = async (
  { hostname, origin }: AdminSite,
  written: string | undefined,
  challenge: string,
): Promise<Pick<OperatorPasskey, 'kind' | 'credentialId' | 'publicKey'> | undefined> => {
  const credential = readNew(written)
  if (credential === undefined) return undefined
  const { id, clientDataJSON, attestationObject } = credential
  const { verifyRegistrationResponse } = await webauthn()
  try {
    if (isCrossOrigin(clientDataJSON)) return undefined
    const { verified, registrationInfo } = await verifyRegistrationResponse({
      response: {
        ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
        response: { clientDataJSON, attestationObject },
      },
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: hostname,
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    })
    if (!verified || registrationInfo.credential.id !== id) return undefined
    const publicKey = Buffer.from(registrationInfo.credential.publicKey).toString('base64url')
    return { kind: 'passkey', credentialId: id, publicKey }
  } catch {
    // The library's messages quote input.
    return undefined
  }
}

/** `PublicKeyCredentialRequestOptionsJSON` (Web Authentication Level 3 §5.1.10). Without `known`, the authenticator offers those it has. */
export const assertionOptions = (
  { hostname }: AdminSite,
  challenge: string,
  known?: readonly OperatorPasskey[],
): JsonObject => ({
  ...{ challenge, rpId: hostname, userVerification: 'required', timeout },
  ...(known && { allowCredentials: known.map(({ credentialId }) => ({ type: 'public-key', id: credentialId })) }),
})

/** The answer of an authenticator, all base64url. */
export interface Assertion {
  readonly id: string
  readonly clientDataJSON: string
  readonly authenticatorData: string
  readonly signature: string
}

/** Reads an `AuthenticationResponseJSON`. Nothing is verified. */
export const readAssertion = (written: string | undefined): Assertion | undefined => {
  const credential = readSignIn(written)
  if (credential === undefined) return undefined
  const { id, clientDataJSON, authenticatorData, signature } = credential
  return { id, clientDataJSON, authenticatorData, signature }
}

/**
 * Verifies an assertion by a passkey: challenge, origin, RP ID, user presence, user verification, and signature (Web
 * Authentication Level 3 §7.2). The counter is not compared, because passkeys that are synced have none.
 */
export const isAssertionOf = async (
  { id, ...response }: Assertion,
  { publicKey, credentialId }: Pick<OperatorPasskey, 'publicKey' | 'credentialId'>,
  { challenge, origin, rpId }: { readonly challenge: string; readonly origin: string; readonly rpId: string },
): Promise<boolean> => {
  if (id !== credentialId) return false
  const { verifyAuthenticationResponse } = await webauthn()
  try {
    if (isCrossOrigin(response.clientDataJSON)) return false
    const { verified } = await verifyAuthenticationResponse({
      response: { ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} }, response },
      expectedChallenge: challenge,
      expectedOrigin: origin,
      expectedRPID: rpId,
      credential: { id, counter: 0, publicKey: new Uint8Array(Buffer.from(publicKey, 'base64url')) },
      requireUserVerification: true,
    })
    return verified
  } catch {
    return false
  }
}
