import type { EvidenceChallenges } from '../../attestation/evidence-challenges.js'
import { readJsonObject } from '../../attestation/read-body.js'
import type { JsonObject } from '../../json.js'
import { attestedClient } from '../../oauth/clients/client-authentication.js'
import { recordingRefusals } from './audit-context.js'
import type { Declaration } from '../endpoint.js'
import { json, type Handler } from '../message.js'
import type { Refusals } from '../refusals.js'

export interface ChallengeOptions {
  readonly evidence: Pick<EvidenceChallenges, 'issue'>
  readonly refusals: Refusals
}

/**
 * `POST /challenge`: a value that evidence or an attested client's proof must contain, issued before the caller is
 * known. The body may be empty. (draft-ietf-oauth-attestation-based-client-auth §6.1)
 */
export const challengeEndpoint = {
  path: '/challenge',
  methods: ['POST'],
  body: 'json',
  errorCodes: true,
  limit: { byAddress: 'attestation', byRefusals: true },
  // Advertised for clients' proofs; devices do not use discovery to find it.
  discovery: ({ issuer, clientAuthMethods }): JsonObject =>
    clientAuthMethods.includes(attestedClient) ? { challenge_endpoint: `${issuer}/challenge` } : {},
} as const satisfies Declaration

export const createChallengeEndpoint = ({ evidence, refusals }: ChallengeOptions): Handler =>
  recordingRefusals(refusals, async (http) => {
    if (http.body?.length !== 0) readJsonObject(http)
    return json(200, { attestation_challenge: await evidence.issue() })
  })
