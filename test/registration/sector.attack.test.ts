import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { post, register } from '../support/clients/registration.js'
import { redirectUri } from '../support/server/server.js'
import { expectRefusal, startTokenServer, type TokenServer } from '../support/server/token-server.js'

describe('RG03 sector_identifier_uri', () => {
  let documents: Server
  let sector: string
  let server: TokenServer
  let asked: string[] = []
  beforeAll(async () => {
    documents = createServer((request, response) => {
      asked.push(String(request.url))
      if (request.url === '/redirect') response.writeHead(302, { location: '/good' }).end()
      else if (request.url === '/hangs') return
      else response.end(JSON.stringify(request.url === '/good' ? [redirectUri, 'https://b.example/cb'] : [redirectUri]))
    }).listen(0, '127.0.0.1')
    await once(documents, 'listening')
    sector = `http://127.0.0.1:${(documents.address() as AddressInfo).port}`
    server = await startTokenServer({
      configure: (written) => ({
        ...written,
        pairwise_key: 'k'.repeat(32),
        registration: { mode: 'open' },
        outbound: { allow_private_addresses: true },
      }),
    })
  })
  afterAll(async () => {
    documents.closeAllConnections()
    documents.close()
    await server[Symbol.asyncDispose]()
  })

  const two = { redirect_uris: [redirectUri, 'https://b.example/cb'], subject_type: 'pairwise' }

  it('is fetched once, and has to list every redirect URI', async () => {
    asked = []
    const told = await register(server.server.issuer, { ...two, sector_identifier_uri: `${sector}/good` })
    expect(told['sector_identifier_uri']).toBe(`${sector}/good`)
    expect(asked).toEqual(['/good'])
  })

  it.each(['/lacks', '/redirect', '/hangs'])('is refused with a document that %s', async (path) => {
    const answer = await post(server.server.issuer, { ...two, sector_identifier_uri: sector + path })
    expectRefusal(answer, 400, 'invalid_client_metadata')
    expect(answer.body['error_description']).toContain('sector_identifier_uri')
  })

  it('is required where the redirect URIs have two hosts', async () => {
    expectRefusal(await post(server.server.issuer, two), 400, 'invalid_client_metadata')
  })
})
