import type { EvidenceChallenges } from '../../attestation/evidence-challenges.js'
import { readJsonObject } from '../../attestation/read-body.js'
import { recordingRefusals } from './trail.js'
import type { Declaration } from '../endpoint.js'
import { json, type Handler } from '../message.js'
import type { Refusals } from '../refusals.js'

export interface ChallengeOptions {
  readonly evidence: Pick<EvidenceChallenges, 'issue'>
  readonly refusals: Refusals
}

/** `POST /challenge`: a value that evidence has to contain, before anybody says whose evidence. The body may be empty. */
export const challengeEndpoint = {
  path: '/challenge',
  methods: ['POST'],
  body: 'json',
  errorCodes: true,
  limit: { byAddress: 'attestation', byRefusals: true },
} as const satisfies Declaration

export const createChallengeEndpoint = ({ evidence, refusals }: ChallengeOptions): Handler =>
  recordingRefusals(refusals, async (http) => {
    if (http.body?.length !== 0) readJsonObject(http)
    return json(200, { attestation_challenge: await evidence.issue() })
  })
