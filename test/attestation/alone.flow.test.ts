import { createRemoteJWKSet, jwtVerify } from 'jose'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { checkConfiguration } from '../../core/checks/check-configuration.js'
import { withRegistries } from '../../core/host/with-registries.js'
import { noLog } from '../../core/observe/log.js'
import { loadPages } from '../../core/host/load-pages.js'
import { createDevice } from '../support/clients/attestation.js'
import { readDocument } from '../support/document.js'
import { startServer, type TestServer } from '../support/server/server.js'

type Json = Record<string, unknown>

/** config/examples/fleet.yaml, with the addresses and folders of a test. */
const asTest = ({ issuer, listen, admin, signers, storage, audit }: Json): Json => ({
  ...(parse(readDocument('config/examples/fleet.yaml')) as Json),
  ...{ issuer, listen, admin, signers, storage, audit },
})

/** As the command line does it, from another process. */
const approveAll = async (server: TestServer): Promise<void> => {
  const checked = await checkConfiguration(join(server.directory, 'signet.yaml'), {}, loadPages)
  await withRegistries(checked, { clock: Date.now, log: noLog }, async ({ secondFactors }) => {
    const factor = secondFactors.get('approval')
    for (const { id } of (await factor?.waiting?.()) ?? []) await factor?.decide?.(id, 'approve')
  })
}

it('a deployment without a grant issues attestations and nothing else', async () => {
  await using server = await startServer({ configure: asTest })
  const { issuer } = server
  const device = await createDevice(issuer, {
    principal_id: 'meter-1',
    attributes: { model: 'M1', firmware: '1.2' },
    second_factor: { kind: 'approval', value: '42' },
  })
  const complete = async (challenge: unknown): Promise<string> => {
    const answer = await device.complete(challenge, await device.sign({ challenge, aud: issuer }))
    expect(answer.status).toBe(200)
    return String(answer.body['attestation'])
  }

  expect(await device.enrol()).toMatchObject({ status: 400, body: { error_code: 'ApprovalPending' } })
  await approveAll(server)
  const attestation = await complete((await device.enrol()).body['challenge'])
  const renewed = await complete((await device.reissue(attestation)).body['challenge'])
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks.json`))
  const { payload } = await jwtVerify(renewed, keys, { issuer, typ: 'device-attestation+jwt' })
  expect(payload).toMatchObject({ did: 'meter-1', att: { model: 'M1', firmware: '1.2', status: 'active' } })

  for (const path of ['/token', '/introspect', '/revoke', '/authorize', '/userinfo'])
    expect((await fetch(issuer + path, { method: 'POST' })).status).toBe(404)
  const metadata = (await (await fetch(`${issuer}/.well-known/oauth-authorization-server`)).json()) as Json
  expect(metadata).toMatchObject({ issuer, jwks_uri: `${issuer}/jwks.json`, grant_types_supported: [] })
  expect(Object.keys(metadata).filter((name) => name.endsWith('_endpoint'))).toEqual([])
  expect((await fetch(`${server.admin}/health/ready`)).status).toBe(200)
})
