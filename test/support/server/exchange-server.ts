import { webClient } from './server.js'
import { api, basic, otherClient, type Credentials } from '../clients/clients.js'
import { startTokenServer, type Answer, type TokenServer } from './token-server.js'

export const grantType = 'urn:ietf:params:oauth:grant-type:token-exchange'
export const accessType = 'urn:ietf:params:oauth:token-type:access_token'
export const idType = 'urn:ietf:params:oauth:token-type:id_token'
export const ledger = 'https://ledger.example'

const grants = ['authorization_code', 'refresh_token', 'client_credentials', grantType]
export const web = { ...webClient, grant_types: grants, allowed_audiences: [api, ledger] }
/** The resource server `api`, which calls `ledger`. */
export const gateway = {
  client_id: 'gateway',
  client_secret: 'gateway-secret-of-more-than-256-bits-for-tests',
  grant_types: ['client_credentials', grantType],
  scope: 'openid profile read write offline_access',
  allowed_audiences: [api, ledger],
}
/** May do for `web` what it may. */
export const delegate = { ...gateway, client_id: 'delegate', client_secret: `${gateway.client_secret}-delegate` }
export const stranger = { ...gateway, client_id: 'stranger', client_secret: `${gateway.client_secret}-stranger` }
export const noExchange = { ...otherClient, allowed_audiences: [api] }
export const publicExchange = {
  client_id: 'public-exchange',
  token_endpoint_auth_method: 'none',
  grant_types: [grantType],
}

export const options = {
  clients: {
    gateway: { audiences: [api], targets: [ledger], id_token_scope: ['read'] },
    delegate: { audiences: [api], acts_for: ['web'] },
    web: { id_token_scope: ['read'] },
  },
}

type Json = Record<string, unknown>

export const withExchange = (written: Json): Json => ({
  ...written,
  token_exchange_enabled: true,
  plugins: [...(written['plugins'] as Json[]), { use: 'plugins/grants/token-exchange', options }],
  clients: [...(written['clients'] as Json[]).filter(({ client_id: id }) => id !== 'web' && id !== 'other')].concat([
    web,
    gateway,
    delegate,
    stranger,
    noExchange,
    publicExchange,
  ]),
})

export interface Issued {
  readonly access: string
  readonly id: string
  readonly grantId: string
}

export interface ExchangeServer extends TokenServer {
  /** A person's tokens at `web`, for `api`. */
  signIn(overrides?: Parameters<TokenServer['mint']['code']>[0]): Promise<Issued>
  /** A client's own token. */
  own(client: Credentials): Promise<string>
  exchange(
    client: Credentials,
    form: Readonly<Record<string, string | undefined>> | readonly (readonly [string, string])[],
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>
}

export const startExchangeServer = async (
  configure: (written: Json) => Json = withExchange,
): Promise<ExchangeServer> => {
  const host = await startTokenServer({ configure })
  return Object.assign(host, {
    async signIn(overrides: Parameters<TokenServer['mint']['code']>[0] = {}) {
      const { code, grantId } = await host.mint.code({ resource: [api], ...overrides })
      const { status, body } = await host.redeem(code)
      if (status !== 200) throw new Error(`no sign-in: ${JSON.stringify(body)}`)
      return { access: String(body['access_token']), id: String(body['id_token']), grantId }
    },
    async own(client: Credentials) {
      const { body } = await host.token({ grant_type: 'client_credentials' }, { authorization: basic(client) })
      return String(body['access_token'])
    },
    exchange: (client: Credentials, form: object, headers: Readonly<Record<string, string>> = {}) => {
      const pairs = Array.isArray(form) ? (form as [string, string][]) : Object.entries(form as Record<string, string>)
      const sent = pairs.filter(([, value]) => (value as string | undefined) !== undefined)
      return host.token([['grant_type', grantType], ...sent], { authorization: basic(client), ...headers })
    },
  })
}
