import { expect, it } from 'vitest'
import type { JsonObject } from '../../core/json.js'
import { noLog } from '../../core/observe/log.js'
import { expectNamed, startAttestationServer } from '../support/server/attestation-server.js'

const limits = { address_per_minute: 1000, key_per_minute: 1000, subject_per_minute: 1, principal_free: 1000 }

it('a subject at its limit is logged once a minute, for at most ten subjects', async () => {
  const lines: JsonObject[] = []
  // A store has warnings of its own.
  const keep = (_message: string, fields: JsonObject = {}) => void ('limit' in fields && lines.push(fields))
  const log = { ...noLog, warn: keep }
  await using server = await startAttestationServer({ limits, log })
  // A fresh minute, so that none ends within the test.
  server.host.later(60_000 - (server.host.now() % 60_000))
  const enrolTwice = async (subject: string): Promise<void> => {
    await (await server.device({ subject })).enrol()
    for (let count = 0; count < 2; count++)
      expectNamed(await (await server.device({ subject, principal_id: 'phone-2' })).enrol(), 'RateLimited')
  }
  await enrolTwice('acme')
  expect(lines).toEqual([{ limit: 'attestation_subject', subject: 'acme' }])
  for (let count = 0; count < 12; count++) await enrolTwice(`acme-${String(count)}`)
  expect(lines.filter(({ limit }) => limit === 'attestation_subject')).toHaveLength(10)
  server.host.later(60_000)
  await enrolTwice('acme')
  expect(lines.at(-1)).toEqual({ limit: 'attestation_subject', subject: 'acme' })
})
