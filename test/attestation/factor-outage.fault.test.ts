import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { expectNamed, startAttestationServer, type AttestationServer } from '../support/server/attestation-server.js'
import { failingAudit, failingStore, type Faults, inBothRoles } from '../support/stores/failing-store.js'
import type { Principal } from '../../core/api/attestation.js'
import { createAttemptLimiter } from '../../core/storage/attempts.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import bootstrap from '../../plugins/attestation/bootstrap/index.js'
import totp from '../../plugins/attestation/totp/index.js'
import { createFactor, showPassword } from '../support/clients/second-factor.js'

// An outage is reported as one however often the right factor comes meanwhile: it is no guess, and is not counted as one.

const sealing = { sealing_key: randomBytes(32).toString('base64url') }
const faults: Faults = new Map()
const lost = new Set<string>()
/** More than both factors let pass at once. */
const repeats = 20

let server: AttestationServer
/** As the command line has it. */
let backend: StorageBackend
beforeAll(async () => {
  server = await startAttestationServer({
    status: true,
    doubles: { stores: inBothRoles(failingStore(faults)), audit: failingAudit(lost) },
    configure: (written) => ({
      ...written,
      plugins: [
        ...(written['plugins'] as object[]),
        { use: 'plugins/attestation/totp', options: sealing },
        { use: 'plugins/attestation/bootstrap' },
      ],
    }),
  })
  backend = await openEmbedded({ path: join(server.host.server.directory, 'store'), clock: Date.now })
})
afterEach(() => {
  faults.clear()
  lost.clear()
  server.double.reset()
})
afterAll(async () => {
  await backend[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const issue = async (plugin: unknown, options: unknown, principal: Principal): Promise<string> => {
  const factor = await createFactor(plugin, options, {
    ...{ clock: Date.now, issuer: server.issuer, clockToleranceSeconds: 10 },
    attempts: createAttemptLimiter(backend.counters('counters')),
    factorRecords: backend.records('second_factors'),
  })
  return (await factor.issue?.(principal))?.lines['secret'] ?? ''
}

const valueOf = {
  totp: async (principal: Principal) => showPassword(await issue(totp, sealing, principal), Date.now()),
  bootstrap_secret: (principal: Principal) => issue(bootstrap, undefined, principal),
}

let count = 0
const newDevice = async (kind: keyof typeof valueOf) => {
  const principal: Principal = { subject: 'alice', principalId: `phone-${String(count++)}`, principalType: 'device' }
  const second_factor = { kind, value: await valueOf[kind](principal) }
  return server.device({ principal_id: principal.principalId, second_factor })
}

const breakIt: Readonly<Record<string, () => void>> = {
  'the records': () => faults.set('second_factors.find', 'before').set('second_factors.list', 'before'),
  'what uses the factor up': () =>
    faults.set('second_factor_claims.claim', 'before').set('second_factors.remove', 'before'),
  'the store of challenges': () => faults.set('challenges.put', 'before'),
  'the audit log': () => lost.add('attestation.challenged'),
  'the status provider': () => {
    server.double.current = () => Promise.reject(new Error('connection refused'))
  },
}

describe.each(['totp', 'bootstrap_secret'] as const)('%s, right and repeated', (kind) => {
  it.each(Object.keys(breakIt))(
    'while %s is down: 503 each time, and the same request passes afterwards',
    async (what) => {
      const device = await newDevice(kind)
      breakIt[what]?.()
      for (let index = 0; index < repeats; index += 1) expectNamed(await device.enrol(), 'Unavailable')
      faults.clear()
      lost.clear()
      server.double.reset()
      const { body, status } = await device.enrol()
      expect(status).toBe(200)
      expect((await device.complete(body['challenge'])).status).toBe(200)
      expectNamed(await device.enrol(), 'SecondFactorFailed')
    },
  )
})
