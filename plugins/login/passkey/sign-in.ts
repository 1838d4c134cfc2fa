import { verifyAuthenticationResponse } from '@simplewebauthn/server'
import type { JsonObject, SignInAttempt, SignInResult } from '../../../core/api/index.js'
import type { PersonFactors } from '../../../core/api/internal.js'
import type { RelyingParty } from './options.js'
import { isCrossOrigin, readSignIn } from '../../../core/api/internal.js'

/** Milliseconds that the browser waits for the person. */
const timeout = 300_000

/** Options of a passkey sign-in, as first or second factor. */
export interface PasskeySignInOptions {
  readonly party: RelyingParty
  readonly acr: string | undefined
  readonly factors: Pick<PersonFactors, 'findPasskey' | 'usePasskey' | 'list'>
}

/**
 * `PublicKeyCredentialRequestOptionsJSON` (Web Authentication Level 3 §5.1.10). While the person is unknown it lists
 * no credentials, so the authenticator offers those it has. Undefined when the known person has none.
 */
export const requestOptions = async (
  { challenge, passed }: Pick<SignInAttempt, 'challenge' | 'passed'>,
  { party, factors }: PasskeySignInOptions,
): Promise<JsonObject | undefined> => {
  const own = passed && (await factors.list(passed.subject)).filter((factor) => factor.kind === 'passkey')
  if (own?.length === 0) return undefined
  const allowCredentials = own?.map(({ credentialId, transports }) => ({
    ...{ type: 'public-key', id: credentialId, transports: [...transports] },
  }))
  return {
    ...{ challenge, rpId: party.id, userVerification: 'required', timeout },
    ...(allowCredentials && { allowCredentials }),
  }
}

/**
 * The authenticator has a key for this person, and verified a PIN or a fingerprint. `swk` instead of `hwk` if the key
 * can leave its hardware (RFC 8176 §2); `user` means that someone was present.
 */
export const passkeyAmr = (backupEligible: boolean): readonly string[] => [backupEligible ? 'swk' : 'hwk', 'user']

/** Verifies an authenticator's signature. `why` is for the audit log only. */
export const finishSignIn = async (
  { challenge, passed }: Pick<SignInAttempt, 'challenge' | 'passed'>,
  written: string | undefined,
  { party, acr, factors }: PasskeySignInOptions,
): Promise<SignInResult> => {
  const refuse = (why: string, subject = passed?.subject): SignInResult => ({ outcome: 'refused', why, subject })
  const credential = readSignIn(written)
  if (credential === undefined) return refuse('the answer is no passkey')
  const { id, userHandle, ...response } = credential
  if (passed === undefined && userHandle === undefined) return refuse('the passkey does not say whose it is')
  const of = passed === undefined ? { userHandle: userHandle ?? '' } : { subject: passed.subject }
  const passkey = await factors.findPasskey(of, id)
  if (passkey === undefined) return refuse('the passkey is unknown')
  const { subject, counter, transports, backupEligible } = passkey
  const verified = await verifyAuthenticationResponse({
    response: { ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} }, response },
    expectedChallenge: challenge,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    // The counter is compared where it is stored, in one step.
    credential: {
      ...{ id, counter: 0, transports: [...transports] as never },
      publicKey: new Uint8Array(Buffer.from(passkey.publicKey, 'base64url')),
    },
    requireUserVerification: true,
  }).catch(() => undefined)
  // The library's messages quote input.
  if (verified?.verified !== true || isCrossOrigin(response.clientDataJSON))
    return refuse('the signature is not right', subject)
  const { newCounter, credentialBackedUp: backedUp, credentialDeviceType } = verified.authenticationInfo
  if ((credentialDeviceType === 'multiDevice') !== backupEligible)
    return refuse('the passkey can be copied now, or cannot any more', subject)
  if (!(await factors.usePasskey(subject, id, { counter: newCounter, backedUp })))
    return refuse(counter > 0 ? 'the counter went back' : 'the passkey is unknown', subject)
  return { outcome: 'passed', subject, amr: passkeyAmr(backupEligible), ...(acr !== undefined && { acr }) }
}
