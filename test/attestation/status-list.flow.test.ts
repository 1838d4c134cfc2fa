import { join } from 'node:path'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { getListFromStatusListJWT, getStatusListFromJWT } from '@sd-jwt/jwt-status-list'
import { beforeAll, describe, expect, it } from 'vitest'
import { createPrincipalRegistry, type PrincipalRegistry } from '../../core/attestation/principal-registry.js'
import { collections } from '../../core/collections/collections.js'
import { openStatusLists } from '../../core/collections/status-lists.js'
import { readDeployment } from '../../core/cli/deployment.js'
import { openStores } from '../../core/collections/stores.js'
import { createKeySets } from '../../libraries/verify/key-sets.js'
import { createStatusLists } from '../../libraries/verify/status-list.js'
import { createDevice, decodeJws, doublePlugin, type DeviceOptions } from '../support/clients/attestation.js'
import { readStatus } from '../support/clients/status-list.js'
import { disposeAfterAll } from '../support/dispose-after-all.js'
import { startFactorServer, type FactorServer } from '../support/server/factor-server.js'

interface Reference {
  readonly idx: number
  readonly uri: string
}

const keep = disposeAfterAll()
let server: FactorServer
/** As a command or another replica has it. */
let elsewhere: PrincipalRegistry
beforeAll(async () => {
  server = keep(
    await startFactorServer(
      [doublePlugin({ name: 'status-list' }), { use: 'plugins/attestation/registry' }],
      (written) => ({
        ...written,
        attestation: {
          status_list: { ttl_secs: 60 },
          attestation_ttl_secs: 3600,
          attestation_reissue_after_secs: 1800,
        },
      }),
    ),
  )
  const config = await readDeployment({ config: join(server.directory, 'signet.yaml') })
  const stored = collections(keep(await openStores(config, server.now)))
  elsewhere = createPrincipalRegistry(stored, openStatusLists(config, stored, server.now)?.tokenStatus)
})

let count = 0
const newDevice = (options: DeviceOptions = {}) =>
  createDevice(server.issuer, { principal_id: `listed-${String(count++)}`, ...options })
const referenceOf = (attestation: string): Reference => getStatusListFromJWT(attestation)
const fetchList = (uri: string, headers: Record<string, string> = {}) => fetch(uri, { headers })
const statusOf = async ({ idx, uri }: Reference): Promise<number> =>
  readStatus(await (await fetchList(uri)).text(), idx)
const principalOf = (attestation: string) => {
  const { sub, did } = decodeJws(attestation).payload
  return { subject: String(sub), principalId: String(did), principalType: 'device' } as const
}

describe('an attestation', () => {
  it('refers to its status list, besides the status among its attributes', async () => {
    const attestation = await (await newDevice()).attest()
    const { payload } = decodeJws(attestation)
    expect(payload['status']).toEqual({
      status_list: {
        idx: expect.any(Number),
        uri: expect.stringMatching(new RegExp(`^${server.issuer}/status-lists/[\\w-]{32}$`)),
      },
    })
    expect(payload['att']).toMatchObject({ status: 'active' })
    expect(Object.keys(payload).at(-1)).toBe('status')
  })

  it('SL01 gets an unpredictable new index with each renewal', async () => {
    const device = await newDevice()
    const attestations = [await device.attest()]
    for (let n = 0; n < 8; n++) attestations.push(await device.renew(String(attestations.at(-1))))
    const indexes = attestations.map((attestation) => referenceOf(attestation).idx)
    expect(new Set(indexes).size).toBe(9)
    const steps = indexes.slice(1).map((idx, n) => idx - Number(indexes[n]))
    expect(new Set(steps).size).toBe(8)
  })
})

describe('the list', () => {
  it('is a Status List Token that third-party software reads and caches may keep briefly', async () => {
    const { uri, idx } = referenceOf(await (await newDevice()).attest())
    const response = await fetchList(uri)
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/statuslist+jwt')
    expect(response.headers.get('cache-control')).toBe('public, max-age=5')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    const token = await response.text()
    const { payload, protectedHeader } = await jwtVerify(
      token,
      createRemoteJWKSet(new URL(`${server.issuer}/jwks.json`)),
      { typ: 'statuslist+jwt', issuer: server.issuer, currentDate: new Date(server.now()) },
    )
    expect(protectedHeader).toEqual({ alg: 'ES256', kid: 'es256', typ: 'statuslist+jwt' })
    const iat = Math.floor(server.now() / 1000)
    expect(payload).toEqual({
      iss: server.issuer,
      sub: uri,
      iat,
      exp: iat + 180,
      ttl: 60,
      status_list: { bits: 1, lst: expect.any(String) },
    })
    const list = getListFromStatusListJWT(token)
    expect([list.statusList.length, list.getBitsPerStatus(), list.getStatus(idx)]).toEqual([2 ** 20, 1, 0])
  })

  it('SL08 has an ETag, also for HEAD, and a client that has it already gets 304', async () => {
    const { uri } = referenceOf(await (await newDevice()).attest())
    const etag = String((await fetchList(uri)).headers.get('etag'))
    const again = await fetchList(uri, { 'if-none-match': etag })
    expect([again.status, await again.text()]).toEqual([304, ''])
    expect(again.headers.get('etag')).toBe(etag)
    expect((await fetch(uri, { method: 'HEAD' })).headers.get('etag')).toBe(etag)
    expect((await fetchList(uri, { 'if-none-match': '"another"' })).status).toBe(200)
  })

  it('is signed once while nothing changes, and again when it expires', async () => {
    const { uri } = referenceOf(await (await newDevice()).attest())
    const ask = async () => (await fetchList(uri)).text()
    const first = await ask()
    server.later(30_000)
    expect(await ask()).toBe(first)
    server.later(31_000)
    expect(await ask()).not.toBe(first)
    const signed = (await server.audit()).filter(({ event }) => event === 'status_list.signed')
    expect(signed.at(-1)).toMatchObject({
      list: uri.split('/').at(-1),
      exp: Math.floor(server.now() / 1000) + 180,
      signatures: [{ kid: 'es256', purpose: 'status_list', typ: 'statuslist+jwt' }],
    })
  })

  it.each(['x', 'A'.repeat(32), '-'.repeat(43), 'in_use'])('SL05 %s is no list: 404', async (id) => {
    const response = await fetchList(`${server.issuer}/status-lists/${id}`)
    expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([404, 'invalid_request'])
  })

  it('SL05 an id with any letter changed is no list', async () => {
    const { uri } = referenceOf(await (await newDevice()).attest())
    for (const at of [1, 7, 9, 20, 31]) {
      const letters = [...uri]
      const place = uri.length - at
      letters[place] = letters[place] === 'A' ? 'B' : 'A'
      expect((await fetchList(letters.join(''))).status).toBe(404)
    }
  })

  it('SL09 of an earlier time is not available', async () => {
    const { uri } = referenceOf(await (await newDevice()).attest())
    expect((await fetchList(`${uri}?time=1`)).status).toBe(501)
  })

  it('accepts no body and no other method', async () => {
    const { uri } = referenceOf(await (await newDevice()).attest())
    expect((await fetch(uri, { method: 'POST' })).status).toBe(405)
  })
})

describe('a revocation', () => {
  it('SL02 in another process is in the list within five seconds, for every issued attestation', async () => {
    const device = await newDevice()
    const first = await device.attest()
    const all = [first, await device.renew(first)]
    const other = referenceOf(await (await newDevice()).attest())
    for (const attestation of all) expect(await statusOf(referenceOf(attestation))).toBe(0)
    expect(await elsewhere.revoke({ principal: principalOf(first), revokedAt: 1 })).toBe(true)
    server.later(5000)
    for (const attestation of all) expect(await statusOf(referenceOf(attestation))).toBe(1)
    expect(await statusOf(other)).toBe(0)
  })

  it('is counted in the metrics, as are the lists and their build times', async () => {
    const metrics = async () => {
      const text = await (await fetch(`${server.admin}/metrics`)).text()
      const valueOf = (name: string) => Number(new RegExp(`^${name}\\{issuer="[^"]+"\\} (\\d+)$`, 'm').exec(text)?.[1])
      return [
        valueOf('signet_status_lists'),
        valueOf('signet_status_list_revoked_entries'),
        valueOf('signet_status_list_build_duration_seconds_count'),
      ] as const
    }
    const attestation = await (await newDevice()).attest()
    await statusOf(referenceOf(attestation))
    const [lists, revoked, builds] = await metrics()
    expect(lists).toBeGreaterThan(0)
    const principal = principalOf(attestation)
    expect(await elsewhere.revoke({ principal, revokedAt: 1 })).toBe(true)
    server.later(5000)
    expect(await statusOf(referenceOf(attestation))).toBe(1)
    expect(await metrics()).toEqual([lists, revoked + 1, builds + 1])
  })

  it('SL02 reaches a verifier with our library within the ttl and five seconds', async () => {
    const { issuer, now: clock } = server
    const issuers = [{ issuer, jwks_uri: `${issuer}/jwks.json` }]
    const keySets = createKeySets({ issuers, fetch, clock, staleFor: 0 })
    const verifier = createStatusLists({ keySets, fetch, clock })
    const attestation = await (await newDevice()).attest()
    const reference = referenceOf(attestation)
    expect(await verifier.isValid(issuer, reference)).toBe(true)
    await elsewhere.revoke({ principal: principalOf(attestation), revokedAt: 1 })
    expect(await verifier.isValid(issuer, reference)).toBe(true)
    server.later(65_000)
    expect(await verifier.isValid(issuer, reference)).toBe(false)
  })

  it('SL03 by another key that is enrolled is in the list at once', async () => {
    const [before, after] = [await newDevice({ principal_id: 'one' }), await newDevice({ principal_id: 'one' })]
    const first = referenceOf(await before.attest())
    expect(await statusOf(first)).toBe(0)
    const second = referenceOf(await after.attest())
    expect([await statusOf(first), await statusOf(second)]).toEqual([1, 0])
  })

  it('SL04 is not taken back by a restored principal, which gets a new attestation', async () => {
    const device = await newDevice()
    const attestation = await device.attest()
    const principal = principalOf(attestation)
    await elsewhere.revoke({ principal, revokedAt: 1 })
    await elsewhere.restore(principal)
    const renewed = await device.renew(attestation)
    server.later(5000)
    expect(await statusOf(referenceOf(attestation))).toBe(1)
    expect(await statusOf(referenceOf(renewed))).toBe(0)
  })

  it('SL03 by a release is in the list', async () => {
    const attestation = await (await newDevice()).attest()
    await elsewhere.release(principalOf(attestation))
    server.later(5000)
    expect(await statusOf(referenceOf(attestation))).toBe(1)
  })

  it('SL02 between challenge and completion leaves no valid attestation', async () => {
    const device = await newDevice()
    const attestation = await device.attest()
    const open = (await device.reissue(attestation)).body['challenge']
    await elsewhere.revoke({ principal: principalOf(attestation), revokedAt: 1 })
    expect((await device.complete(open)).body).toMatchObject({ error_code: 'PrincipalRevoked' })
    server.later(5000)
    expect(await statusOf(referenceOf(attestation))).toBe(1)
  })
})

describe('over time', () => {
  it('SL06 a list ends when its last attestation has expired, and the next one has another id', async () => {
    const device = await newDevice()
    const { uri } = referenceOf(await device.attest())
    server.later((86_400 - 60) * 1000)
    expect((await fetchList(uri)).status).toBe(200)
    server.later(7200 * 1000)
    const next = referenceOf(await (await newDevice()).attest())
    expect((await fetchList(uri)).status).toBe(404)
    expect(next.uri).not.toBe(uri)
    expect(await statusOf(next)).toBe(0)
  })
})

it('without the section there is no list, and attestations are unchanged', async () => {
  const plain = keep(await startFactorServer([doublePlugin({ name: 'no-list' })]))
  const attestation = await (await createDevice(plain.issuer)).attest()
  expect(Object.keys(decodeJws(attestation).payload)).toEqual(
    'iss sub iat nbf exp jti cnf did principal_type att'.split(' '),
  )
  expect((await fetch(`${plain.issuer}/status-lists/${'A'.repeat(32)}`)).status).toBe(404)
})
