import { afterAll, beforeAll, expect } from 'vitest'
import { post, register } from '../clients/registration.js'
import { redirectUri } from './server.js'
import { expectRefusal, startTokenServer, type Answer, type TokenServer } from './token-server.js'

// Gives the test file that calls it a server at which anybody may register, and looks in the end whether nothing is stored of all
// that was refused.

export const web = { redirect_uris: [redirectUri] }

export let host: TokenServer
export let issuer: string
let before = 0
const count = async () => (await host.store.records('clients').list(undefined, 1000)).length

export const setUpRegistration = (): void => {
  beforeAll(async () => {
    host = await startTokenServer({
      configure: (written) => ({
        ...written,
        registration: {
          mode: 'open',
          policy: {
            signing_algs: ['ES256'],
            token_endpoint_auth_methods: ['client_secret_basic', 'private_key_jwt', 'none'],
          },
        },
      }),
    })
    ;({ issuer } = host.server)
    await register(issuer, web)
    before = await count()
  })
  afterAll(async () => {
    expect(await count()).toBe(before)
    await host[Symbol.asyncDispose]()
  })
}

/** A registration that gets 400, with a description that RFC 6749 §5.2 allows. */
export const refused = async (metadata: unknown, error = 'invalid_client_metadata'): Promise<Answer> => {
  const answer = await post(issuer, metadata)
  expectRefusal(answer, 400, error)
  expect(answer.body['error_description']).toMatch(/^[\x20-\x21\x23-\x5B\x5D-\x7E]+$/)
  return answer
}
