import { expect } from 'vitest'
import { assertionClaims, assertionType, newAssertionKey, signAssertion } from '../clients/client-assertion.js'
import { expectRefusal, startTokenServer, type Answer, type TokenServer } from './token-server.js'

export const es256 = newAssertionKey('ES256', 'one')
export const second = newAssertionKey('ES256', 'two')
export const rs256 = newAssertionKey('RS256', 'rsa')
/** Has the name of a registered key, and is another one. */
export const stranger = newAssertionKey('ES256', 'one')

export const header = { alg: 'ES256', kid: 'one' }

const signer = (client_id: string, overrides: Record<string, unknown> = {}) => ({
  client_id,
  token_endpoint_auth_method: 'private_key_jwt',
  grant_types: ['client_credentials'],
  scope: 'read',
  jwks: { keys: [es256.publicJwk, second.publicJwk, rs256.publicJwk] },
  ...overrides,
})

type Members = Record<string, unknown>

/** A server with clients that sign; `more` is added to its configuration. */
export const startAssertionServer = async (more: Members = {}) => {
  const host: TokenServer = await startTokenServer({
    configure: (written) => ({
      ...written,
      ...more,
      clients: [
        ...(written['clients'] as object[]),
        signer('signer'),
        signer('other-signer'),
        signer('only-es256', { token_endpoint_auth_signing_alg: 'ES256' }),
        signer('nameless', { jwks: { keys: [{ ...es256.publicJwk, kid: undefined }] } }),
        signer('narrow', { jwks: { keys: [{ ...rs256.publicJwk, alg: 'PS256' }] } }),
      ],
    }),
  })
  const { issuer } = host.server
  const claims = (overrides: Members = {}, clientId = 'signer'): Members =>
    assertionClaims(clientId, issuer, host.now(), overrides)
  const sent: string[] = []
  const send = (client_assertion: string, more: Record<string, string | undefined> = {}): Promise<Answer> => {
    sent.push(client_assertion)
    return host.token({
      grant_type: 'client_credentials',
      client_assertion_type: assertionType,
      client_assertion,
      ...more,
    })
  }
  return {
    host,
    issuer,
    claims,
    send,
    /** Every assertion, as it was sent. */
    sent,
    seconds: () => Math.floor(host.now() / 1000),
    expectGood: async (overrides: Members = {}): Promise<void> => {
      expect((await send(signAssertion(es256, header, claims(overrides)))).status).toBe(200)
    },
    expectRefused: async (assertion: string, more: Record<string, string | undefined> = {}): Promise<void> => {
      const answer = await send(assertion, more)
      expectRefusal(answer, 401, 'invalid_client')
      expect(answer.body['error_description']).toBe('Client authentication failed.')
      expect(answer.headers.get('www-authenticate')).toBeNull()
    },
  }
}

export type AssertionServer = Awaited<ReturnType<typeof startAssertionServer>>
