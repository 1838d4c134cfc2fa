import { generateRegistrationOptions, verifyRegistrationResponse } from '@simplewebauthn/server'
import { epochSeconds, type Clock, type FactorResult, type JsonObject } from '../../../core/api/index.js'
import { toPlainText, userHandleOf, type Passkey, type PasskeyEnrolment } from '../../../core/api/internal.js'
import { authenticatorName } from './authenticators.js'
import type { RelyingParty } from './options.js'
import { isCrossOrigin, readNew, type NewCredential } from '../../../core/api/internal.js'

/** EdDSA, ES256 and RS256, which authenticators sign with (RFC 9053, RFC 8812). */
const algorithms = [-8, -7, -257]

const mostNameCharacters = 60

/** The name that the person gave; otherwise the provider's, or its kind and where it was created. */
const nameOf = (typed: string | undefined, { transports }: NewCredential, aaguid: string, browser?: string): string => {
  const name = toPlainText(typed ?? '')
  if (name !== '') return [...name].slice(0, mostNameCharacters).join('').trim()
  const kind = transports.includes('internal') || transports.includes('hybrid') ? 'Passkey' : 'Security key'
  return authenticatorName(aaguid) ?? (browser === undefined ? kind : `${kind} (${browser})`)
}

const refuse = (why: string): FactorResult<Passkey> => ({ outcome: 'refused', why })

/**
 * Passkeys at `/account`: discoverable, with user verification, and without a manufacturer's statement, which nobody
 * reads.
 */
export const createPasskeyEnrolment = ({ id: rpId, name, origin }: RelyingParty, clock: Clock): PasskeyEnrolment => ({
  kind: 'passkey',
  async begin({ subject, accountName, challenge, factors }) {
    const made = await generateRegistrationOptions({
      rpName: name,
      rpID: rpId,
      userID: new Uint8Array(Buffer.from(userHandleOf(subject), 'base64url')),
      userName: accountName,
      userDisplayName: accountName,
      challenge: new Uint8Array(Buffer.from(challenge, 'base64url')),
      attestationType: 'none',
      excludeCredentials: factors.flatMap((factor) => (factor.kind === 'passkey' ? [{ id: factor.credentialId }] : [])),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      supportedAlgorithmIDs: algorithms,
    })
    return JSON.parse(JSON.stringify(made)) as JsonObject
  },
  async finish({ challenge, browser }, answer) {
    const credential = readNew(answer['answer'])
    if (credential === undefined) return refuse('the answer is no registration')
    const { id, clientDataJSON, attestationObject, transports } = credential
    try {
      if (isCrossOrigin(clientDataJSON)) return refuse('it was made in a frame of another origin')
      const { verified, registrationInfo } = await verifyRegistrationResponse({
        response: {
          ...{ id, rawId: id, type: 'public-key', clientExtensionResults: {} },
          response: { clientDataJSON, attestationObject },
        },
        expectedChallenge: challenge,
        expectedOrigin: origin,
        expectedRPID: rpId,
        requireUserVerification: true,
        supportedAlgorithmIDs: algorithms,
      })
      if (!verified || registrationInfo.credential.id !== id) return refuse('the registration is not right')
      const { credential: made, credentialDeviceType, credentialBackedUp: backedUp } = registrationInfo
      return {
        outcome: 'made',
        factor: {
          ...{ kind: 'passkey', credentialId: made.id, counter: made.counter, backedUp, transports },
          publicKey: Buffer.from(made.publicKey).toString('base64url'),
          backupEligible: credentialDeviceType === 'multiDevice',
          name: nameOf(answer['name'], credential, registrationInfo.aaguid, browser),
          createdAt: epochSeconds(clock),
        },
      }
    } catch {
      // The library's messages quote input.
      return refuse('the registration is not right')
    }
  },
})
