import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { UserAgent } from '../support/clients/user-agent.js'
import { visitAccount } from '../support/server/account-visitor.js'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'
import { freePort } from '../support/free-port.js'

// A module of a deployer that never says true, and never false.

const module = `
const identity = { subject: 'plant-7', principalId: 'meter-1', principalType: 'device' }
export default {
  name: 'vague',
  apiVersion: 1,
  create: () => ({
    signIn: [{
      id: 'vague', kind: 'form', amr: ['pwd'],
      begin: async () => ({ kind: 'form', fields: 'password' }),
      finish: async () => ({ outcome: 'passed', subject: 'p-1', amr: ['pwd'] }),
    }],
    accounts: { find: async (subject) => (subject === 'p-1' ? { subject, claims: {} } : undefined) },
    passwordChange: async () => ({ outcome: 'allowed', apply: async () => 'no' }),
    consent: {
      id: 'vague',
      begin: async ({ finishUrl }) => finishUrl,
      finish: async () => ({ outcome: 'maybe', scope: ['openid'] }),
    },
    secondFactors: [{
      kind: 'vague',
      verify: async () => ({ ok: 'yes' }),
      withdraw: async () => 'nothing',
      waiting: async () => [
        { id: 'vague:1', principal: identity, jkt: 'x'.repeat(43), attributes: {}, message: 'm', requestedAt: 0 },
      ],
      decide: async () => 'no',
    }],
  }),
}
`
const redirectUri = 'https://client.example/cb'
const credentials = { username: 'p', password: 'any' }

let cli: CommandLine
let service: Service
beforeAll(async () => {
  cli = await openCommandLine()
  const port = await freePort()
  await cli.write('vague.js', module)
  await cli.write('package.json', '{"type":"module"}')
  const text = configuration(`
attestation: {}
clients:
  - { client_id: app, token_endpoint_auth_method: none, redirect_uris: ['${redirectUri}'] }
`)
    .replace('port: 0', `port: ${port}`)
    .replace('http://localhost:3000', `http://127.0.0.1:${port}`)
    .replace('- use: plugins/login/password', '- use: ./vague.js')
    .replace('plugins:', '  - { kid: es-1, alg: ES256, signer: local, ref: es-1 }\nplugins:')
  await cli.write('signet.yaml', text)
  service = await cli.serve(['start', '--config', 'signet.yaml'])
})
afterAll(() => cli[Symbol.asyncDispose]())

it('a consent that is neither allowed, denied nor pending gives no code', async () => {
  const url = new URL('/authorize', service.public)
  url.search = new URLSearchParams({
    ...{ client_id: 'app', redirect_uri: redirectUri, response_type: 'code', scope: 'openid' },
    ...{ code_challenge: createHash('sha256').digest('base64url'), code_challenge_method: 'S256' },
  }).toString()
  const agent = new UserAgent()
  const page = await agent.follow(url)
  const { response, left } = await agent.submit(page.url, await page.response.text(), credentials)
  expect(left).toBeUndefined()
  expect(response.status).toBe(400)
  expect(await response.text()).toContain('Your answer has not arrived yet')
})

it('a password changes only on a plain yes', async () => {
  const visitor = visitAccount(service.public)
  await visitor.signIn(credentials)
  const [current_password, new_password] = ['any', 'another one that will do']
  const { html } = await visitor.page('/account/password')
  const csrf = /name="csrf" value="([^"]+)"/.exec(html.slice(html.indexOf('id="password"')))?.[1] ?? ''
  const fields = { current_password, new_password, new_password_again: new_password }
  const changed = await visitor.post('password', { csrf, action: 'change', ...fields })
  expect(changed.status).toBe(500)
  await service.printed('neither true nor false')
  expect(service.output()).not.toContain('account.password_changed')
})

it('commands do not take such an answer for success', async () => {
  const principal = ['--subject', 'plant-7', '--principal-id', 'meter-1', '--type', 'device']
  const config = ['--config', 'signet.yaml']
  expect(await cli.run(['principals', 'withdraw', '--kind', 'vague', ...principal, ...config])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('There is nothing to withdraw'),
  })
  for (const decision of ['approve', 'deny'])
    expect(await cli.run(['principals', decision, 'vague:1', ...config])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('No pending enrolment'),
    })
})
