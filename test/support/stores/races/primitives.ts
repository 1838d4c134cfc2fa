import type { JsonObject } from '../../../../core/api/index.js'
import type { Principal, SecondFactorVerifier } from '../../../../core/api/attestation.js'
import {
  createPersonFactors,
  type PersonFactors,
  type PersonFactorsOptions,
} from '../../../../core/interaction/factors/person-factors.js'
import { newRecoveryCodes } from '../../../../core/interaction/factors/recovery-codes.js'
import { createAttemptLimiter } from '../../../../core/storage/attempts.js'
import type { RecordStore } from '../../../../core/storage/ports.js'
import { once, storageVerbs, type RaceBackend, type RaceVerb } from '../../../../core/testing/storage/races/verbs.js'
import bootstrap from '../../../../plugins/attestation/bootstrap/index.js'
import totp from '../../../../plugins/attestation/totp/index.js'
import { createFactor, enrol, issueTo, showPassword } from '../../clients/second-factor.js'

export type { RaceBackend } from '../../../../core/testing/storage/races/verbs.js'

const deviceOf = (id: string): Principal => ({ subject: id, principalId: id, principalType: 'device' })

const openFactor = (backend: RaceBackend, kind: 'totp' | 'bootstrap_secret'): Promise<SecondFactorVerifier> => {
  const services = {
    clock: Date.now,
    issuer: 'https://op.example',
    clockToleranceSeconds: 10,
    attempts: createAttemptLimiter(backend.counters('race_counters')),
    factorRecords: backend.records('race_factors') as RecordStore<JsonObject>,
    factorClaims: backend.replayGuard('race_factor_claims'),
  }
  return kind === 'totp'
    ? createFactor(totp, { sealing_key: 'A'.repeat(43) }, services)
    : createFactor(bootstrap, undefined, services)
}

const factorsIn = (backend: RaceBackend): PersonFactors =>
  createPersonFactors({
    store: backend.records('race_person_factors') as PersonFactorsOptions['store'],
    clock: Date.now,
  })

/** The verbs of the published races, and those of the second factors that come with us. */
export const primitives = {
  ...storageVerbs,
  'use a one-time password': {
    prepare: async (backend, id) =>
      showPassword(await issueTo(await openFactor(backend, 'totp'), deviceOf(id)), Date.now()),
    attempt: async (backend, id, _process, given) => {
      const used = await enrol(await openFactor(backend, 'totp'), deviceOf(id), String(given))
      return used === undefined ? 'fault' : once(used)
    },
  },
  'use a bootstrap secret': {
    prepare: async (backend, id) => issueTo(await openFactor(backend, 'bootstrap_secret'), deviceOf(id)),
    // A late caller no longer finds it.
    attempt: async (backend, id, _process, given) => {
      const factor = await openFactor(backend, 'bootstrap_secret')
      return once((await enrol(factor, deviceOf(id), String(given), 'bootstrap_secret')) === true)
    },
  },
  'use a recovery code': {
    prepare: async (backend, id) => {
      const [code = '', ...others] = newRecoveryCodes()
      await factorsIn(backend).putRecoveryCodes(id, [code, ...others])
      return code
    },
    attempt: async (backend, id, _process, given) => once(await factorsIn(backend).useRecoveryCode(id, String(given))),
  },
} as const satisfies Record<string, RaceVerb>
