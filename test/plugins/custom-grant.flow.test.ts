import { execFile } from 'node:child_process'
import { cpSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { packageRoot } from '../../core/package-root.js'
import { writeExample } from '../support/document.js'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

const grantType = 'urn:bank.example:grant:loan'
const voucherType = 'urn:acme.example:grant:voucher'
const client = (id: string) =>
  `{ client_id: ${id}, client_secret: ${id}-secret-of-more-than-256-bits-for-tests, grant_types: ['${grantType}', '${voucherType}'], scope: api }`

let cli: CommandLine
let service: Service

beforeAll(async () => {
  cli = await openCommandLine()
  writeExample(cli.folder, 'grant', ['loan.js', 'attack-loan.js'])
  const acme = join(cli.folder, 'node_modules', '@acme', 'signet-voucher-grant')
  cpSync(join(packageRoot, 'test/support/server/acme-grant'), acme, { recursive: true })
  const loan = '  - { use: ./loan.js, options: { product: mortgage, branches: { L-1001: branch-7 } } }\n'
  const voucher = "  - { use: '@acme/signet-voucher-grant', options: { vouchers: [V-1] } }\n"
  const claims = 'claims: { product: { value: none, in: [access_token] }, bank: { value: acme, in: [access_token] } }\n'
  await cli.write(
    'signet.yaml',
    configuration(`${loan}${voucher}${claims}clients: [${client('branch-7')}, ${client('branch-8')}]\n`),
  )
  service = await cli.serve(['start', '--config', 'signet.yaml'])
})
afterAll(() => cli[Symbol.asyncDispose]())

const ask = async (id: string, form: Record<string, string>, type = grantType) => {
  const response = await fetch(new URL('/token', service.public), {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${id}:${id}-secret-of-more-than-256-bits-for-tests`)}` },
    body: new URLSearchParams({ grant_type: type, ...form }),
  })
  return { status: response.status, body: (await response.json()) as Record<string, string> }
}

it('gives the branch a token for its loan, with the claims of the plugin before those of the configuration', async () => {
  const { status, body } = await ask('branch-7', { loan: 'L-1001', scope: 'api' })
  expect(status).toBe(200)
  const keys = createRemoteJWKSet(new URL('/jwks.json', service.public))
  const { payload } = await jwtVerify(body['access_token'] ?? '', keys, { typ: 'at+jwt' })
  expect(payload).toMatchObject({
    sub: 'L-1001',
    client_id: 'branch-7',
    scope: 'api',
    product: 'mortgage',
    bank: 'acme',
  })
})

it("refuses with the plugin's own error text", async () => {
  const refusals = await Promise.all([
    ask('branch-8', { loan: 'L-1001' }),
    ask('branch-7', { loan: '__proto__' }),
    ask('branch-7', {}),
  ])
  expect(refusals.map(({ status, body }) => [status, body['error']])).toEqual([
    [400, 'invalid_grant'],
    [400, 'invalid_grant'],
    [400, 'invalid_request'],
  ])
  expect(refusals[2]?.body['error_description']).toBe('The parameter loan is missing.')
  const audit = await readFile(join(cli.folder, 'data', 'audit.jsonl'), 'utf8')
  expect(audit).toContain('"reason":"parameters refused: loan"')
})

it('does not let the plugin exceed the registration of the client', async () => {
  const { status, body } = await ask('branch-7', { loan: 'L-1001', scope: 'openid' })
  expect([status, body['error']]).toEqual([400, 'invalid_scope'])
})

it('is advertised', async () => {
  const discovery = await fetch(new URL('/.well-known/openid-configuration', service.public))
  expect(((await discovery.json()) as Record<string, unknown>)['grant_types_supported']).toContain(grantType)
})

it('withstands the attack suite', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['attack-loan.js'], { cwd: cli.folder })
  expect(stdout).toMatch(/^\d{2,} requests, 0 findings\n$/)
})

it('may come from an npm package, by name', async () => {
  const good = await ask('branch-7', { voucher: 'V-1', scope: 'api' }, voucherType)
  expect(good.status).toBe(200)
  const keys = createRemoteJWKSet(new URL('/jwks.json', service.public))
  const { payload } = await jwtVerify(good.body['access_token'] ?? '', keys, { typ: 'at+jwt' })
  expect(payload).toMatchObject({ sub: 'V-1', client_id: 'branch-7', scope: 'api', voucher: 'V-1' })
  const refused = await ask('branch-7', { voucher: 'V-2' }, voucherType)
  expect([refused.status, refused.body['error']]).toEqual([400, 'invalid_grant'])
})
