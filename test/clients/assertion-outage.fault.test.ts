import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { failingStore, type Faults, inBothRoles } from '../support/stores/failing-store.js'
import { expectRefusal, startTokenServer, type TokenServer } from '../support/server/token-server.js'
import { newAssertionKey } from '../support/clients/client-assertion.js'
import { newAssertion, signedForm, signingClient } from '../support/clients/signing-client.js'

const faults: Faults = new Map()
let host: TokenServer
beforeAll(async () => {
  host = await startTokenServer({
    doubles: { stores: inBothRoles(failingStore(faults)) },
    configure: (written) => ({ ...written, clients: [...(written['clients'] as object[]), signingClient] }),
  })
})
afterAll(() => host[Symbol.asyncDispose]())
beforeEach(() => faults.clear())

const fresh = (): string => newAssertion(host.server.issuer, host.now())
const send = (assertion: string) => host.token(signedForm(assertion))

it('CA08 a guard that is down: 503, never a token; the same assertion passes when it is back', async () => {
  const assertion = fresh()
  faults.set('client_assertions.claim', 'before')
  expectRefusal(await send(assertion), 503, 'temporarily_unavailable')
  expectRefusal(await send(assertion), 503, 'temporarily_unavailable')
  await host.expectGood()
  faults.clear()
  expect((await send(assertion)).status).toBe(200)
  expectRefusal(await send(assertion), 401, 'invalid_client')
})

it('CA08 a guard whose answer was lost: 503, and the id stays used', async () => {
  const assertion = fresh()
  faults.set('client_assertions.claim', 'after')
  expectRefusal(await send(assertion), 503, 'temporarily_unavailable')
  faults.clear()
  expectRefusal(await send(assertion), 401, 'invalid_client')
  expect((await send(fresh())).status).toBe(200)
})

it('a wrong signature never reaches the replay guard', async () => {
  faults.set('client_assertions.claim', 'before')
  expectRefusal(await send(newAssertion(host.server.issuer, host.now(), {}, newAssertionKey())), 401, 'invalid_client')
})
