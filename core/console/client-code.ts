import type { ListedClient } from '../administration/clients.js'
import type { Translator } from '../interaction/languages/translator.js'
import type { Section } from './cells.js'

const isConfidential = ({ token_endpoint_auth_method: method }: ListedClient): boolean => method !== 'none'

const nodeCode = (
  issuer: string,
  { client_id, ...client }: ListedClient,
  redirectUri: string,
): string => `// npm install openid-client
import * as client from 'openid-client'

const config = await client.discovery(
  new URL('${issuer}'),
  '${client_id}',${isConfidential({ client_id, ...client }) ? '\n  process.env.CLIENT_SECRET,' : '\n  undefined,\n  client.None(),'}
)
const verifier = client.randomPKCECodeVerifier()
const url = client.buildAuthorizationUrl(config, {
  redirect_uri: '${redirectUri}',
  scope: 'openid',
  code_challenge: await client.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
})`

const springCode = (issuer: string, { client_id }: ListedClient): string => `spring.security.oauth2.client:
  registration.signet:
    client-id: ${client_id}
    client-secret: \${CLIENT_SECRET}
    scope: openid
  provider.signet.issuer-uri: ${issuer}`

const curlCode = (issuer: string, { client_id }: ListedClient): string =>
  `curl -u '${client_id}:'"$CLIENT_SECRET" -d grant_type=client_credentials ${issuer}/token`

/** Code with which an application uses the client, for the grants that it has. */
export const clientCode = (texts: Translator, issuer: string, client: ListedClient): readonly Section[] => {
  const [redirectUri] = client.redirect_uris
  const codes: readonly (readonly [string, string])[] = [
    ...(redirectUri === undefined
      ? []
      : [
          ['Node.js', nodeCode(issuer, client, redirectUri)] as const,
          ...(isConfidential(client) ? [['Spring Boot', springCode(issuer, client)] as const] : []),
        ]),
    ...(client.grant_types.includes('client_credentials') ? [['curl', curlCode(issuer, client)] as const] : []),
  ]
  return codes.map(([name, pre]) => ({ title: texts.text('client.code', { name }), pre }))
}
