import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hashOpaqueToken } from '../../core/opaque-token.js'
import { openEmbedded } from '../../stores/embedded/open-embedded.js'
import type { StorageBackend } from '../../core/storage/ports.js'
import { boxClient, deviceGrant, withDevices } from '../support/clients/device.js'
import { subject } from '../support/server/server.js'
import { basic } from '../support/clients/clients.js'
import { collectionsOf } from '../support/forge/mint.js'
import { createClient, createDeployment, type Deployment } from '../support/server/processes.js'

const rounds = Number(process.env['SIGNET_RACE_ROUNDS'] ?? 20)

describe('DV05 an approved device code polled 20 times at once, by two processes', () => {
  const client = createClient()
  let deployment: Deployment
  let store: StorageBackend
  let origins: readonly string[]
  beforeAll(async () => {
    deployment = await createDeployment(withDevices)
    origins = [(await deployment.start()).origin, (await deployment.start()).origin]
    store = await openEmbedded({ path: join(deployment.directory, 'store'), clock: Date.now })
  })
  afterAll(async () => {
    client.close()
    await store[Symbol.asyncDispose]()
    await deployment[Symbol.asyncDispose]()
  })

  const approve = async (deviceCode: string) => {
    const { deviceCodes } = collectionsOf(store)
    const code = await deviceCodes.find(hashOpaqueToken(deviceCode))
    expect(code?.state).toBe('pending')
    const { userCode = '', request } = code ?? {}
    const { outcome } = await deviceCodes.decide(userCode, {
      approval: {
        grantId: userCode,
        clientId: request?.clientId ?? '',
        subject,
        scope: request?.scope ?? [],
        resource: [deployment.issuer],
        authentication: { auth_time: Math.floor(Date.now() / 1000) },
      },
    })
    expect(outcome).toBe('won')
  }

  it(
    `${rounds} rounds: one 200, whose tokens live; the others slow down`,
    async () => {
      for (let round = 0; round < rounds; round++) {
        const authorized = { authorization: basic(boxClient) }
        const scope = 'openid offline_access'
        const asked = await client.post(`${origins[round % 2] ?? ''}/device_authorization`, { scope }, authorized)
        const deviceCode = String(asked.body['device_code'])
        await approve(deviceCode)
        const form = { grant_type: deviceGrant, device_code: deviceCode }
        const answers = await Promise.all(
          Array.from({ length: 20 }, (_, n) => client.post(`${origins[n % 2] ?? ''}/token`, form, authorized)),
        )
        const [winner, ...others] = answers.filter(({ status }) => status === 200)
        expect(others).toEqual([])
        expect(answers.filter(({ body }) => body['error'] === 'slow_down')).toHaveLength(19)
        const authorization = `Bearer ${String(winner?.body['access_token'])}`
        expect((await fetch(`${deployment.issuer}/userinfo`, { headers: { authorization } })).status).toBe(200)
        const refresh = { grant_type: 'refresh_token', refresh_token: String(winner?.body['refresh_token']) }
        const refreshed = await client.post(`${origins[1] ?? ''}/token`, refresh, authorized)
        expect(refreshed.status).toBe(200)
      }
    },
    60_000 + rounds * 1000,
  )
})
