import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { writeExample } from '../support/document.js'
import { freePort } from '../support/free-port.js'
import { UserAgent } from '../support/clients/user-agent.js'
import { configuration, openCommandLine, type CommandLine, type Service } from '../support/server/command-line.js'

const hostile = { iss: 'x', aud: 'x', scope: 'admin', client_id: 'x', acr: 'x', exp: 1, cnf: {}, act: {}, sub: 'x' }
const alice = { id: 'directory-7', claims: { name: 'Alice Adams', groups: ['bank-vault', 'choir'], ...hostile } }
const credentials = { username: 'alice', password: 'correct horse' }
const redirectUri = 'https://client.example/cb'
let reachable = true

/** The directory service that the plugin of examples/login-plugin asks. */
const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const body = (await json(request)) as Record<string, string>
  const knows =
    request.url === '/person' ? body['id'] === alice.id : JSON.stringify(body) === JSON.stringify(credentials)
  const allowed = reachable && request.headers.authorization === 'Bearer t0ken'
  response.writeHead(!allowed ? 500 : knows ? 200 : 404).end(JSON.stringify(alice))
}
const directory = createServer((request, response) => void answer(request, response))

let cli: CommandLine
let service: Service

beforeAll(async () => {
  await once(directory.listen(0, '127.0.0.1'), 'listening')
  cli = await openCommandLine()
  writeExample(cli.folder, 'login-plugin', ['directory.js'])
  const url = `http://127.0.0.1:${(directory.address() as AddressInfo).port}`
  const port = await freePort()
  const text = configuration(`
claims:
  roles: { from: groups, only: ['bank-*'], in: [access_token] }
clients:
  - { client_id: app, token_endpoint_auth_method: none, redirect_uris: ['${redirectUri}'] }
`)
    .replace('port: 0', `port: ${port}`)
    .replace('http://localhost:3000', `http://127.0.0.1:${port}`)
    .replace('- use: plugins/login/password', `- { use: ./directory.js, options: { url: '${url}', token: t0ken } }`)
  await cli.write('signet.yaml', text)
  service = await cli.serve(['start', '--config', 'signet.yaml'])
})
afterAll(async () => {
  await cli[Symbol.asyncDispose]()
  directory.close()
})

const verifier = randomBytes(32).toString('base64url')
const challenge = createHash('sha256').update(verifier).digest('base64url')

const authorizeUrl = (): URL => {
  const url = new URL('/authorize', service.public)
  const query = { client_id: 'app', redirect_uri: redirectUri, response_type: 'code', scope: 'openid profile' }
  url.search = new URLSearchParams({ ...query, code_challenge: challenge, code_challenge_method: 'S256' }).toString()
  return url
}

it('signs a person of the directory in', async () => {
  const back = await new UserAgent().authorize(authorizeUrl(), credentials)
  const response = await fetch(new URL('/token', service.public), {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code: back.searchParams.get('code') ?? '',
      redirect_uri: redirectUri,
      client_id: 'app',
      code_verifier: verifier,
    }),
  })
  const { access_token, id_token } = (await response.json()) as Record<string, string>
  expect(decodeJwt(id_token ?? '')).toMatchObject({ sub: alice.id, amr: ['pwd'] })
  const { iss, aud } = decodeJwt(id_token ?? '')
  const token = decodeJwt(access_token ?? '')
  expect(token).toMatchObject({ sub: alice.id, scope: 'openid profile', client_id: 'app', roles: ['bank-vault'] })
  expect([token.iss, aud]).toEqual([iss, 'app'])
  for (const name of ['cnf', 'act', 'acr', 'groups']) expect(token).not.toHaveProperty(name)
  const userinfo = await fetch(new URL('/userinfo', service.public), {
    headers: { authorization: `Bearer ${access_token}` },
  })
  expect(await userinfo.json()).toEqual({ sub: alice.id, name: 'Alice Adams' })
})

it('refuses who is not in the directory', async () => {
  const agent = new UserAgent()
  const { response, url } = await agent.follow(authorizeUrl())
  const again = await agent.submit(url, await response.text(), { ...credentials, password: 'wrong' })
  expect(again.response.status).toBe(403)
})

it('answers 503 while the directory is down, and resumes where it stopped', async () => {
  const agent = new UserAgent()
  const { response, url } = await agent.follow(authorizeUrl())
  const html = await response.text()
  reachable = false
  const failed = await agent.submit(url, html, credentials)
  reachable = true
  expect(failed.response.status).toBe(503)
  const signedIn = await agent.submit(url, html, credentials)
  // Consent is remembered from before.
  expect(signedIn.left?.searchParams.has('code')).toBe(true)
})
