import { definePlugin, OAuthError, type ClientAuthenticator } from '../../../core/api/index.js'
import {
  acceptedAlgorithms,
  isSignedByAny,
  parseCompactJws,
  readJwtHeader,
  type CompactJws,
} from '../../../core/api/internal.js'
import { checkClaims, refusal } from './check-claims.js'

/** RFC 7523 §2.2. */
const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

interface Presented {
  readonly jws: CompactJws
  /** The path of the endpoint called. */
  readonly path: string
}

/** RFC 8725 §3.11: a token with another type is not an assertion. Most clients send none, or `JWT`. */
const types: readonly unknown[] = [undefined, 'JWT', 'client-authentication+jwt']

/** `private_key_jwt` (RFC 7523, OpenID Connect Core §9): a JWT signed by the client that is accepted once. */
export default definePlugin({
  name: 'client-auth/private-key-jwt',
  apiVersion: 1,
  needs: [
    ...(['clock', 'clockToleranceSeconds', 'issuer', 'endpointBases'] as const),
    ...(['clientKeys', 'clientAssertions', 'clientAssertionMaxAgeSeconds'] as const),
  ],
  create(_options, services) {
    const { clock, clockToleranceSeconds, issuer, endpointBases, clientKeys, clientAssertions } = services
    const maxAgeSeconds = services.clientAssertionMaxAgeSeconds
    const rules = { clock, issuer, endpointBases, toleranceSeconds: clockToleranceSeconds, maxAgeSeconds }
    const privateKeyJwt: ClientAuthenticator<Presented> = {
      method: 'private_key_jwt',
      detect({ params, path }) {
        if (params.get('client_assertion_type') !== assertionType) return undefined
        const assertion = params.get('client_assertion')
        if (assertion === undefined)
          throw new OAuthError('invalid_request', 'client_assertion_type needs client_assertion.')
        const jws = parseCompactJws(assertion)
        const clientId = jws?.payload['sub']
        if (jws === undefined || typeof clientId !== 'string') throw refusal('malformed')
        return { clientId, evidence: { jws, path } }
      },
      async authenticate(client, { jws, path }) {
        const wanted = readJwtHeader(jws.header, {
          types,
          alg: client.token_endpoint_auth_signing_alg,
          accepted: acceptedAlgorithms(client),
        })
        if (typeof wanted === 'string') throw refusal(wanted)
        const { jti, ttlSeconds, earliest } = checkClaims(jws.payload, client, path, rules)
        const keys = await clientKeys.find(client, wanted)
        if (keys.length === 0) throw refusal('no key of the client fits')
        if (!(await isSignedByAny(jws, keys))) throw refusal('wrong signature')
        // Claimed after the signature check; otherwise anybody could use up the ids of others.
        if (!(await clientAssertions.claim(client.client_id, jti, ttlSeconds, earliest))) throw refusal('used before')
        return {}
      },
    }
    return { clientAuthenticators: [privateKeyJwt] }
  },
})
