import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { createPrincipalRegistry, type PrincipalRegistry } from '../../core/attestation/principal-registry.js'
import { readDeployment } from '../../core/cli/deployment.js'
import { collections } from '../../core/collections/collections.js'
import { openStatusLists } from '../../core/collections/status-lists.js'
import { openStores } from '../../core/collections/stores.js'
import { createDevice, memoryStore } from '../../libraries/device/index.js'
import { createVerifier } from '../../libraries/verify/index.js'
import { doublePlugin } from '../support/clients/attestation.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { startFactorServer, type FactorServer } from '../support/server/factor-server.js'
import { reasonOf } from '../support/verify/reason-of.js'

const keep = disposeAfterAll()
const audience = 'https://api.example'
const ttl = 60
let server: FactorServer
/** As the command `principals revoke` has it. */
let registry: PrincipalRegistry

beforeAll(async () => {
  const plugins = [doublePlugin({ name: 'verified-status' }), { use: 'plugins/attestation/registry' }]
  server = keep(
    await startFactorServer(plugins, (written) => ({
      ...written,
      attestation: {
        status_list: { ttl_secs: ttl },
        attestation_ttl_secs: 3600,
        attestation_reissue_after_secs: 1800,
      },
    })),
  )
  const config = await readDeployment({ config: join(server.directory, 'signet.yaml') })
  const stored = collections(keep(await openStores(config, server.now)))
  registry = createPrincipalRegistry(stored, openStatusLists(config, stored, server.now)?.tokenStatus)
})

it('VR29: a device that Signet revokes is refused within the ttl of the list, and no other device is', async () => {
  const asked: string[] = []
  const verifier = createVerifier({
    issuers: [server.issuer],
    audience,
    clock: server.now,
    fetch(url, init) {
      asked.push(new URL(url).pathname.split('/')[1] ?? '')
      return fetch(url, init)
    },
  })
  const enrolled = async (principalId: string) => {
    const device = createDevice({ issuer: server.issuer, store: memoryStore(), clock: server.now })
    const secondFactor = { kind: 'word', value: 'right' }
    await device.enrol({ subject: 'alice', principalId, principalType: 'device', secondFactor })
    return async () => reasonOf(verifier.check(await device.sign(new Request(`${audience}/a`), { audience })))
  }
  const [lost, kept] = [await enrolled('lost'), await enrolled('kept')]
  expect([await lost(), await kept(), await lost()]).toEqual(['accepted', 'accepted', 'accepted'])
  expect(asked).toEqual(['.well-known', 'jwks.json', 'status-lists'])

  const principal = { subject: 'alice', principalId: 'lost', principalType: 'device' } as const
  expect(await registry.revoke({ principal, revokedAt: 1 })).toBe(true)
  server.later(ttl * 1000)
  await expect.poll(lost).toBe('device_not_active')
  expect(await kept()).toBe('accepted')
})
