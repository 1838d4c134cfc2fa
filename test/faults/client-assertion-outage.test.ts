import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { failingStore, type Faults } from '../adversarial/support/failing-store.js'
import { expectRefusal, startTokenServer, type TokenServer } from '../adversarial/support/token-server.js'
import { assertionClaims, assertionType, newAssertionKey, signAssertion } from '../support/client-assertion.js'

const key = newAssertionKey()
const faults: Faults = new Map()
let host: TokenServer
beforeAll(async () => {
  const signer = {
    client_id: 'signer',
    token_endpoint_auth_method: 'private_key_jwt',
    jwks: { keys: [key.publicJwk] },
    grant_types: ['client_credentials'],
    scope: 'read',
  }
  host = await startTokenServer({
    doubles: { store: failingStore(faults) },
    configure: (written) => ({ ...written, clients: [...(written['clients'] as object[]), signer] }),
  })
})
afterAll(() => host[Symbol.asyncDispose]())
beforeEach(() => faults.clear())

const newAssertion = (by = key): string =>
  signAssertion(by, { alg: 'ES256', kid: key.kid }, assertionClaims('signer', host.server.issuer, host.now()))

const send = (client_assertion: string) =>
  host.token({ grant_type: 'client_credentials', client_assertion_type: assertionType, client_assertion })

it('CA08 a guard that is down: 503, never a token; the same assertion passes when it is back', async () => {
  const assertion = newAssertion()
  faults.set('client_assertions.claim', 'before')
  expectRefusal(await send(assertion), 503, 'temporarily_unavailable')
  expectRefusal(await send(assertion), 503, 'temporarily_unavailable')
  await host.expectGood()
  faults.clear()
  expect((await send(assertion)).status).toBe(200)
  expectRefusal(await send(assertion), 401, 'invalid_client')
})

it('CA08 a guard whose answer was lost: 503, and the id stays used', async () => {
  const assertion = newAssertion()
  faults.set('client_assertions.claim', 'after')
  expectRefusal(await send(assertion), 503, 'temporarily_unavailable')
  faults.clear()
  expectRefusal(await send(assertion), 401, 'invalid_client')
  expect((await send(newAssertion())).status).toBe(200)
})

it('a wrong signature never comes to the guard', async () => {
  faults.set('client_assertions.claim', 'before')
  expectRefusal(await send(newAssertion(newAssertionKey())), 401, 'invalid_client')
})
