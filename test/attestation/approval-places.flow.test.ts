import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { checkConfiguration } from '../../core/checks/check-configuration.js'
import { withRegistries } from '../../core/host/with-registries.js'
import type { SecondFactorVerifier } from '../../core/attestation/ports.js'
import { noLog } from '../../core/observe/log.js'
import { loadPages } from '../../core/host/load-pages.js'
import { createDevice } from '../support/clients/attestation.js'
import { startFactorServer } from '../support/server/factor-server.js'

const flood = 1052
const attacker = '198.51.100.7'

it('AN20 one address takes at most ten of the slots that wait for approval, and an honest device gets one', async () => {
  const server = await startFactorServer([{ use: 'plugins/attestation/approval' }], (written) => ({
    ...written,
    trusted_proxies: ['127.0.0.1/32'],
  }))
  onTestFinished(() => server[Symbol.asyncDispose]())
  let count = 0
  /** A key that nobody has used, for a principal and a subject that nobody knows. */
  const enrol = async (address: string): Promise<number> => {
    const name = `invented-${String(count++)}`
    const factor = { kind: 'approval', value: '42' }
    const device = await createDevice(server.issuer, { subject: name, principal_id: name, second_factor: factor })
    const headers = { 'content-type': 'application/json', 'x-forwarded-for': address }
    const answer = await fetch(`${server.issuer}/enrol`, {
      method: 'POST',
      headers,
      body: JSON.stringify(device.enrolment()),
    })
    await answer.arrayBuffer()
    return answer.status
  }
  const crowd = async (enrolments: number): Promise<void> => {
    let left = enrolments
    const one = async (): Promise<void> => {
      while (left-- > 0) expect(await enrol(attacker)).toBe(400)
    }
    await Promise.all(Array.from({ length: 25 }, one))
  }
  /** As the command line has it, from another process. */
  const asPerson = async <T>(look: (factor: SecondFactorVerifier) => Promise<T>): Promise<T> => {
    const checked = await checkConfiguration(join(server.directory, 'signet.yaml'), {}, loadPages)
    return withRegistries(checked, { clock: server.now, log: noLog }, ({ secondFactors }) =>
      look(secondFactors.get('approval')!),
    )
  }
  const waitingFrom = async (factor: SecondFactorVerifier, address: string) =>
    (await factor.waiting!()).filter((one) => one.address === address)

  await crowd(flood)
  expect(await enrol('203.0.113.9')).toBe(400)
  expect(await enrol('2001:db8:0:1::9')).toBe(400)
  await asPerson(async (factor) => {
    expect(await factor.waiting!()).toHaveLength(12)
    expect(await waitingFrom(factor, '203.0.113.9')).toHaveLength(1)
    expect(await waitingFrom(factor, '2001:db8:0:1')).toHaveLength(1)
    const invented = await waitingFrom(factor, attacker)
    expect(invented).toHaveLength(10)
    for (const { id } of invented.slice(0, 4)) expect(await factor.decide!(id, 'deny')).toBe(true)
  })

  // AN21: a denial gives the place back, to ten again and no more.
  await crowd(25)
  await asPerson(async (factor) => {
    expect(await waitingFrom(factor, attacker)).toHaveLength(10)
    expect(await factor.waiting!()).toHaveLength(12)
  })
})
