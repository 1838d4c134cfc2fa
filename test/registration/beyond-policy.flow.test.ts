import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { checkConfiguration } from '../../core/checks/check-configuration.js'
import { loadPages } from '../../core/host/load-pages.js'
import { post, register } from '../support/clients/registration.js'
import { deviceGrant } from '../support/clients/device.js'
import { redirectUri } from '../support/server/server.js'
import { startTokenServer } from '../support/server/token-server.js'

it('a registration with a grant or a scope too many says which, and repeats nothing', async () => {
  await using host = await startTokenServer({
    configure: (written) => ({
      ...written,
      registration: {
        mode: 'open',
        policy: { grant_types: ['authorization_code', 'refresh_token'], scopes: ['openid', 'profile'] },
      },
    }),
  })
  const { issuer } = host.server
  const web = { redirect_uris: [redirectUri] }
  const refusal = async (metadata: object) => {
    const { status, body } = await post(issuer, { ...web, ...metadata })
    expect([status, body['error']]).toEqual([400, 'invalid_client_metadata'])
    return String(body['error_description'])
  }
  const grants = await refusal({ grant_types: ['authorization_code', 'refresh_token', deviceGrant] })
  expect(grants).toBe('grant_types[2] is more than clients may register here')
  const scopes = await refusal({ scope: 'openid canary profile offline_access' })
  expect(scopes).toBe('scope[1], scope[3] is more than clients may register here')
  for (const text of [grants, scopes]) expect(text).not.toMatch(/canary|device/)
  await register(issuer, { ...web, grant_types: ['authorization_code', 'refresh_token'], scope: 'openid' })
})

it('check refuses a schema of authorization details that names type, and a line that shows nothing', async () => {
  const type = (more: object, show?: object) => ({
    type: 'payment',
    schema: { type: 'object', additionalProperties: false, properties: { amount: { type: 'string' } }, ...more },
    ...(show && { show: [show] }),
  })
  await using host = await startTokenServer()
  const file = join(host.server.directory, 'signet.yaml')
  const written = parse(await readFile(file, 'utf8')) as object
  const problemsOf = async (one: object): Promise<string> => {
    await writeFile(file, JSON.stringify({ ...written, authorization_details_types: [one] }))
    return checkConfiguration(file, {}, loadPages).then(
      () => '',
      (error: { problems: unknown }) => JSON.stringify(error.problems),
    )
  }
  expect(await problemsOf(type({}))).toBe('')
  expect(await problemsOf(type({ required: ['type', 'amount'] }))).toContain('without its type')
  expect(await problemsOf(type({}, { path: '/creditor' }))).toContain('leads to nothing that the schema allows')
})
