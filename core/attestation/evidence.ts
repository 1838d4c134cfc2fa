import { isObject, type JsonObject, type JsonValue } from '../json.js'
import { Unavailable } from '../unavailable.js'
import { askHook, hookFault } from './ask-hook.js'
import type { EvidenceChallenges } from './evidence-challenges.js'
import { readEvidenceList, type EvidenceClaims } from './evidence-claims.js'
import { attestationError } from './errors.js'
import type { EvidenceContext, EvidenceVerifier, PrincipalType } from './ports.js'
import { principalDigest } from './principal-digest.js'
import type { SentEvidence } from './read-body.js'

/** Evidence that was accepted, with a challenge that is not used up yet. */
export interface AcceptedEvidence {
  readonly kind: string
  readonly claims: EvidenceClaims
  readonly details: JsonObject | undefined
  /**
   * Uses up the challenge and runs `work`. After an outage in the work, the challenge is returned to the same
   * enrolment only. Throws `EvidenceInvalid` when it was used before, `Unavailable`, and any error of `work`.
   */
  redeemFor(work: () => Promise<void>): Promise<void>
}

export interface EvidenceOptions {
  readonly verifiers: ReadonlyMap<string, EvidenceVerifier>
  readonly challenges: Pick<EvidenceChallenges, 'isTimely' | 'redeem' | 'giveBack'>
  /** Types of principals that cannot enrol without evidence. */
  readonly required: readonly PrincipalType[]
}

export interface Evidence {
  /** Whether there is a verifier of this kind. Used for the audit log. */
  has(kind: string): boolean
  /** Throws `EvidenceRequired`. */
  checkPresence(principalType: PrincipalType, sent: SentEvidence | undefined): void
  /**
   * Returns undefined when no evidence was sent, or no plugin reads any. Throws `EvidenceInvalid` for an unknown
   * kind, for a challenge that is expired or not ours, and when the verifier refuses; `Unavailable` for a fault.
   */
  check(
    context: Omit<EvidenceContext, 'challenge'>,
    sent: SentEvidence | undefined,
  ): Promise<AcceptedEvidence | undefined>
}

const invalid = (reason: string): Error => attestationError('EvidenceInvalid', { reason })

export const createEvidence = ({ verifiers, challenges, required }: EvidenceOptions): Evidence => ({
  has: (kind) => verifiers.has(kind),
  checkPresence(principalType, sent) {
    if (sent === undefined && required.includes(principalType)) throw attestationError('EvidenceRequired')
  },
  async check(context, sent) {
    if (sent === undefined || verifiers.size === 0) return undefined
    const { kind, challenge, whole } = sent
    const verifier = verifiers.get(kind)
    if (verifier === undefined) throw invalid('unknown kind of evidence')
    if (!(await challenges.isTimely(challenge))) throw invalid('the challenge is not ours or has expired')
    const component = `attestation.${kind}`
    const answer: unknown = await askHook(component, context.signal, (signal) =>
      verifier.verify({ ...context, challenge, signal }, whole),
    )
    const { claims, details } = readAnswer(component, answer)
    const holder = `${context.jkt} ${principalDigest(context.principal)}`
    return {
      ...{ kind, claims, details },
      async redeemFor(work) {
        // If this fails too, the device gets a new challenge; the second factor is worth more.
        const giveBack = () => challenges.giveBack(challenge, holder).catch(ignoreOutage)
        if (!(await challenges.redeem(challenge, holder))) throw invalid('the challenge was already used')
        try {
          await work()
        } catch (error) {
          if (error instanceof Unavailable) await giveBack()
          throw error
        }
      },
    }
  },
})

const ignoreOutage = (error: unknown): void => {
  if (!(error instanceof Unavailable)) throw error
}

/** Only `ok: true` accepts and only `ok: false` refuses. Anything else is a fault. */
const readAnswer = (component: string, answer: unknown): Pick<AcceptedEvidence, 'claims' | 'details'> => {
  if (!isObject(answer)) throw hookFault(component, 'the plugin returned no answer')
  const { ok, reason, keyStorage, userAuthentication, details } = answer
  if (ok === false) throw invalid(typeof reason === 'string' ? reason : 'refused')
  if (ok !== true) throw hookFault(component, 'the plugin returned no answer')
  const [storage, authentication] = [keyStorage, userAuthentication].map((value) =>
    value === undefined ? undefined : (readEvidenceList(value) ?? null),
  )
  if (storage === null || authentication === null)
    throw hookFault(component, 'the plugin returned levels that are no list of names')
  return {
    claims: {
      ...(storage && { keyStorage: storage }),
      ...(authentication && { userAuthentication: authentication }),
    },
    details: readDetails(component, details),
  }
}

const maxDetails = 1024

const readDetails = (component: string, given: unknown): JsonObject | undefined => {
  if (given === undefined) return undefined
  let copy: JsonValue
  try {
    copy = JSON.parse(JSON.stringify(given)) as JsonValue
  } catch (error) {
    throw hookFault(component, 'the plugin returned details that are not JSON', error)
  }
  if (!isObject(copy) || Buffer.byteLength(JSON.stringify(copy)) > maxDetails)
    throw hookFault(component, 'the plugin returned details that are no object, or too long')
  return copy
}
