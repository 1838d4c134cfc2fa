import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { JwsAlg } from '../core/jose/jwk.js'
import { newAssertionKey } from '../test/support/clients/client-assertion.js'
import type { SoftToken } from '../test/support/signers/softhsm/token.js'
import type { BenchStores } from '../test/support/peer/stores.js'

/** The settings that both servers share. */
export interface Setting {
  readonly alg: JwsAlg
  readonly privateKey: KeyObject
  /** Signet's key is in this token instead of a file. The peer still uses `privateKey`. */
  readonly token?: Pick<SoftToken, 'module' | 'label' | 'pin' | 'environment'>
  readonly registry?: true
  readonly certificates?: true
  /** The databases that both servers use. If absent, Signet uses its embedded store and the peer its memory. */
  readonly stores?: BenchStores
  /** Size of Signet's embedded store. If absent, the default. */
  readonly maxSizeMb?: number
  /** Number of workers, on both cores if there are several. If absent, one process. */
  readonly workers?: number
  /** This key of a KMS signs id_tokens, and `privateKey` everything else. */
  readonly idTokensBy?: { readonly endpoint: string; readonly ref: string }
  /** Signet's log level. At the default, `info`, it logs each request. The peer logs nothing. */
  readonly logLevel: string
  /** The folder for Signet's CPU profile. If absent, no profile is taken. */
  readonly profileDirectory?: string
}

export interface CodeRequest {
  readonly clientId: string
  readonly scope: string
  /** True: the access token is a JWT for the API. False: it is for the userinfo endpoint. */
  readonly forResource: boolean
}

/** One of the two servers, running. */
export interface Contestant extends AsyncDisposable {
  readonly name: string
  readonly port: number
  readonly pid: number
  readonly paths: {
    readonly token: string
    readonly authorization: string
    readonly pushedAuthorizationRequest: string
    readonly userinfo: string
    readonly introspection: string
    readonly keySet: string
    readonly discovery: string
  }
  /** Creates codes as `/authorize` would, all bound to `codeChallenge`. Not measured. */
  mintCodes(count: number, request: CodeRequest): Promise<readonly string[]>
  /** `Cookie` of a browser in which a person has signed in and consented to this client's request. */
  signIn(clientId: string): Promise<string>
}

export const confidential = { id: 'bench-service', secret: 'bench-secret-of-a-confidential-client-0123456789' } as const
export const publicClient = { id: 'bench-app' } as const
export const signing = { id: 'bench-signer', key: newAssertionKey('ES256', 'bench-client') } as const
/** A client of the FAPI 2.0 Security Profile. */
export const fapi = { id: 'bench-bank', key: newAssertionKey('ES256', 'bench-bank') } as const
export const mutualTls = { id: 'bench-mtls' } as const
/** Public clients with encrypted ID tokens: by key agreement on P-256, and to a 2048-bit RSA key. */
export const encrypted = { 'ECDH-ES': 'bench-reader-ec', 'RSA-OAEP-256': 'bench-reader-rsa' } as const
/** A public client with pairwise subjects. */
export const pairwise = { id: 'bench-pairwise' } as const
export const redirectUri = 'https://app.bench.example/callback'
export const resource = 'https://api.bench.example'
export const apiScope = 'api:read'

/** RFC 7636 appendix B. */
export const codeVerifier = 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk'
export const codeChallenge = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM'

const encryptionKeys = {
  'ECDH-ES': generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey,
  'RSA-OAEP-256': generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey,
} as const

const forPeople = {
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  redirect_uris: [redirectUri],
  token_endpoint_auth_method: 'none',
  scope: `openid offline_access email ${apiScope}`,
} as const

const readers = (['ECDH-ES', 'RSA-OAEP-256'] as const).map((alg) => ({
  ...forPeople,
  client_id: encrypted[alg],
  jwks: { keys: [{ ...encryptionKeys[alg].export({ format: 'jwk' }), kid: 'bench-reader', use: 'enc', alg }] },
  id_token_encrypted_response_alg: alg,
  id_token_encrypted_response_enc: 'A256GCM',
}))

const fixed = [
  ...readers,
  { ...forPeople, client_id: pairwise.id, subject_type: 'pairwise' },
  {
    client_id: confidential.id,
    client_secret: confidential.secret,
    grant_types: ['client_credentials', 'authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'client_secret_basic',
    scope: `openid offline_access email ${apiScope}`,
  },
  { ...forPeople, client_id: publicClient.id },
  {
    client_id: signing.id,
    grant_types: ['client_credentials'],
    response_types: [],
    redirect_uris: [],
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'ES256',
    jwks: { keys: [signing.key.publicJwk] },
    scope: apiScope,
  },
  {
    client_id: fapi.id,
    grant_types: ['authorization_code'],
    response_types: ['code'],
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'private_key_jwt',
    token_endpoint_auth_signing_alg: 'ES256',
    jwks: { keys: [fapi.key.publicJwk] },
    dpop_bound_access_tokens: true,
    scope: `openid ${apiScope}`,
  },
] as const

const ofProxy = {
  client_id: mutualTls.id,
  grant_types: ['client_credentials'],
  response_types: [],
  redirect_uris: [],
  token_endpoint_auth_method: 'tls_client_auth',
  tls_client_auth_subject_dn: `CN=${mutualTls.id}`,
  tls_client_certificate_bound_access_tokens: true,
  scope: apiScope,
} as const

/** RFC 7591 metadata of the clients, the same for both servers. */
export const clientsFor = ({ certificates }: Pick<Setting, 'certificates'>) =>
  certificates ? [...fixed, ofProxy] : fixed
