import { verifyAuthenticationResponse } from '@simplewebauthn/server'
import type { JsonObject, SignInAttempt, SignInResult } from '../../../core/api/index.js'
import type { PersonFactors } from '../../../core/api/internal.js'
import type { RelyingParty } from './options.js'
import { isCrossOrigin, readSignIn } from './read-credential.js'

/** Milliseconds for which the browser asks. */
const timeout = 300_000

/** A passkey's sign-in, first or second. */
export interface PasskeySignInOptions {
  readonly party: RelyingParty
  readonly acr: string | undefined
  readonly factors: Pick<PersonFactors, 'findPasskey' | 'usePasskey' | 'list'>
}

/**
 * `PublicKeyCredentialRequestOptionsJSON` (Web Authentication Level 3 §5.1.10). While nobody knows who it is, it names no
 * credential: the authenticator offers those that it has. Undefined when the person who is known has none.
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
 * The authenticator has one key of its own for this person, and asked for a PIN or a finger. `swk`, not `hwk`, where the key can
 * leave its hardware (RFC 8176 §2); `user`: somebody was there.
 */
export const passkeyAmr = (backupEligible: boolean): readonly string[] => [backupEligible ? 'swk' : 'hwk', 'user']

/** Checks what an authenticator signed. `why` is for the audit log alone. */
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
  // The messages of the library quote what was sent.
  if (verified?.verified !== true || isCrossOrigin(response.clientDataJSON))
    return refuse('the signature is not right', subject)
  const { newCounter, credentialBackedUp: backedUp, credentialDeviceType } = verified.authenticationInfo
  if ((credentialDeviceType === 'multiDevice') !== backupEligible)
    return refuse('the passkey can be copied now, or cannot any more', subject)
  if (!(await factors.usePasskey(subject, id, { counter: newCounter, backedUp })))
    return refuse(counter > 0 ? 'the counter went back' : 'the passkey is unknown', subject)
  return { outcome: 'passed', subject, amr: passkeyAmr(backupEligible), ...(acr !== undefined && { acr }) }
}
