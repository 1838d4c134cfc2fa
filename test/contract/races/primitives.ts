import type { JsonObject, Principal, SecondFactorVerifier } from '../../../core/api/index.js'
import type { RecordStore } from '../../../core/storage/ports.js'
import { once, storageVerbs, type RaceBackend, type RaceVerb } from '../../../core/testing/storage/races/verbs.js'
import bootstrap from '../../../plugins/attestation/bootstrap/index.js'
import totp from '../../../plugins/attestation/totp/index.js'
import { createFactor, enrolmentOf, showPassword } from '../../support/second-factor.js'

export type { RaceBackend } from '../../../core/testing/storage/races/verbs.js'

const deviceOf = (id: string): Principal => ({ subject: id, principalId: id, principalType: 'device' })

const openFactor = (backend: RaceBackend, kind: 'totp' | 'bootstrap_secret'): Promise<SecondFactorVerifier> => {
  const services = {
    clock: Date.now,
    issuer: 'https://op.example',
    clockToleranceSeconds: 10,
    attempts: backend.attempts('race_factor_attempts'),
    factorRecords: backend.records('race_factors') as RecordStore<JsonObject>,
    factorClaims: backend.replayGuard('race_factor_claims'),
  }
  return kind === 'totp'
    ? createFactor(totp, { sealing_key: 'A'.repeat(43) }, services)
    : createFactor(bootstrap, undefined, services)
}

const issueFactor = async (backend: RaceBackend, id: string, kind: 'totp' | 'bootstrap_secret'): Promise<string> => {
  const issued = await (await openFactor(backend, kind)).issue?.(deviceOf(id))
  return issued?.lines['secret'] ?? ''
}

/** Undefined: it was not even right. */
const useFactor = async (
  backend: RaceBackend,
  id: string,
  kind: 'totp' | 'bootstrap_secret',
  value: string,
): Promise<boolean | undefined> => {
  const factor = await openFactor(backend, kind)
  const answer = await factor.verify(enrolmentOf(deviceOf(id)), { kind, value })
  return answer.ok ? answer.consume?.() : undefined
}

/** The verbs of the published races, and those of the second factors that come with us. */
export const primitives = {
  ...storageVerbs,
  'use a one-time password': {
    prepare: async (backend, id) => showPassword(await issueFactor(backend, id, 'totp'), Date.now()),
    attempt: async (backend, id, _process, given) => {
      const used = await useFactor(backend, id, 'totp', String(given))
      return used === undefined ? 'fault' : once(used)
    },
  },
  'use a bootstrap secret': {
    prepare: (backend, id) => issueFactor(backend, id, 'bootstrap_secret'),
    // Whoever comes late does not find it any more.
    attempt: async (backend, id, _process, given) =>
      once((await useFactor(backend, id, 'bootstrap_secret', String(given))) === true),
  },
} as const satisfies Record<string, RaceVerb>
