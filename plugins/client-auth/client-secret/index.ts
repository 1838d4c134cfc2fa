import { hash, timingSafeEqual } from 'node:crypto'
import {
  definePlugin,
  epochSeconds,
  OAuthError,
  type Client,
  type ClientAuthenticator,
  type Clock,
} from '../../../core/api/index.js'
import { readBasic } from './basic.js'

// By way of text: a Buffer of the hash's own is memory outside the heap, and costs twice as much.
const sha256 = (text: string): Buffer => Buffer.from(hash('sha256', text, 'base64url'), 'base64url')
const noSecret = sha256('no client has this secret')

const checkSecret = (client: Client, secret: string, clock: Clock): void => {
  const expected = client.client_secret_sha256
  const same = timingSafeEqual(sha256(secret), expected === undefined ? noSecret : Buffer.from(expected, 'base64url'))
  const expires = client.client_secret_expires_at ?? 0
  const expired = expires !== 0 && expires <= epochSeconds(clock)
  if (expected === undefined || !same || expired)
    throw new OAuthError('invalid_client', 'Client authentication failed.', {
      reason: expired ? 'client_secret has expired' : 'wrong client_secret',
    })
}

const basic = (clock: Clock): ClientAuthenticator<string> => ({
  method: 'client_secret_basic',
  detect: ({ header }) => {
    const credentials = readBasic(header('authorization'))
    return credentials && { clientId: credentials.clientId, evidence: credentials.secret }
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
