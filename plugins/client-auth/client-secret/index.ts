import { hash, timingSafeEqual } from 'node:crypto'
import {
  definePlugin,
  epochSeconds,
  OAuthError,
  type Client,
  type ClientAuthenticator,
  type Clock,
} from '../../../core/api/index.js'

// Hashed via text, because a Buffer from the hash is memory outside the heap, and costs twice as much.
const sha256 = (text: string): Buffer => Buffer.from(hash('sha256', text, 'base64url'), 'base64url')

const isSame = (given: Buffer, expected: string | undefined): boolean =>
  expected !== undefined && timingSafeEqual(given, Buffer.from(expected, 'base64url'))

/** Both secrets are always compared, so that timing reveals nothing about either, only whether there are two. */
const checkSecret = (client: Client, secret: string, clock: Clock): void => {
  const given = sha256(secret)
  const now = epochSeconds(clock)
  const isCurrent = isSame(given, client.client_secret_sha256)
  const isPrevious = isSame(given, client.previous_client_secret_sha256)
  const expires = client.client_secret_expires_at ?? 0
  const expired = isPrevious ? (client.previous_client_secret_expires_at ?? 0) <= now : expires !== 0 && expires <= now
  if ((isCurrent || isPrevious) && !expired) return
  throw new OAuthError('invalid_client', 'Client authentication failed.', {
    reason: expired ? 'client_secret has expired' : 'wrong client_secret',
  })
}

const basic = (clock: Clock): ClientAuthenticator<string> => ({
  method: 'client_secret_basic',
  detect: (request) => {
    const credentials = request.basicCredentials()
    // An empty secret is that of a client without one.
    if (credentials === undefined || credentials.secret === '') return undefined
    return { clientId: credentials.clientId, evidence: credentials.secret }
  },
  async authenticate(client, secret) {
    checkSecret(client, secret, clock)
    return {}
  },
})

const post = (clock: Clock): ClientAuthenticator<string> => ({
  method: 'client_secret_post',
  detect: ({ params }) => {
    const secret = params.get('client_secret')
    if (secret === undefined) return undefined
    const clientId = params.get('client_id')
    if (clientId === undefined) throw new OAuthError('invalid_request', 'client_secret needs client_id.')
    return { clientId, evidence: secret }
  },
  async authenticate(client, secret) {
    checkSecret(client, secret, clock)
    return {}
  },
})

/** `client_secret_basic` and `client_secret_post` (RFC 6749 §2.3.1). */
export default definePlugin({
  name: 'client-auth/client-secret',
  apiVersion: 1,
  needs: ['clock'],
  create: (_options, { clock }) => ({ clientAuthenticators: [basic(clock), post(clock)] }),
})
