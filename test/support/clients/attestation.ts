import { fromAnotherAddress } from '../addresses.js'
import { join } from 'node:path'
import { packageRoot } from '../../../core/package-root.js'

type Json = Record<string, unknown>

export interface AttestationAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Json
}

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

const algorithm = { name: 'ECDSA', namedCurve: 'P-256' } as const

/** POST of JSON with `fetch`; a string is sent as it is. */
export const postJson = async (url: string, body: unknown, headers: Record<string, string> = {}) => {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...fromAnotherAddress(), ...headers },
    body: typeof body === 'string' || body instanceof Uint8Array ? (body as BodyInit) : JSON.stringify(body),
  })
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: isJson ? (JSON.parse(text) as Json) : {},
  } satisfies AttestationAnswer
}

export interface DeviceOptions {
  readonly subject?: string
  readonly principal_id?: string
  readonly principal_type?: string
  readonly attributes?: Json
  readonly second_factor?: { readonly kind: string; readonly value: string }
  readonly evidence?: Json
}

/** A device or service with a key of its own that cannot be taken out: only WebCrypto and fetch. */
export const createDevice = async (issuer: string, options: DeviceOptions = {}, keys?: CryptoKeyPair) => {
  const { privateKey, publicKey } = keys ?? (await crypto.subtle.generateKey(algorithm, false, ['sign', 'verify']))
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  const jwk = { kty, crv, x, y } as Record<'kty' | 'crv' | 'x' | 'y', string>
  const thumbprint = await crypto.subtle.digest('SHA-256', Buffer.from(JSON.stringify({ crv, kty, x, y })))
  const identity = {
    subject: 'alice',
    principal_id: 'phone-1',
    principal_type: 'device',
    attributes: { model: 'P1' } as Json,
    second_factor: { kind: 'word', value: 'right' },
    ...options,
  }

  /** A compact JWS by the device's key. */
  const sign = async (payload: unknown, header: Json = { alg: 'ES256' }): Promise<string> => {
    const input = `${encode(header)}.${encode(payload)}`
    const signature = await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, privateKey, Buffer.from(input))
    return `${input}.${Buffer.from(signature).toString('base64url')}`
  }
  const enrolment = (overrides: Json = {}): Json => ({ ...identity, public_jwk: jwk, ...overrides })
  const enrol = (overrides: Json = {}) => postJson(`${issuer}/enrol`, enrolment(overrides))
  const complete = async (challenge: unknown, signature?: string) =>
    postJson(`${issuer}/enrol/complete`, {
      challenge,
      challenge_signature: signature ?? (await sign({ challenge })),
    })
  const reissue = (attestation: unknown, overrides: Json = {}) =>
    postJson(`${issuer}/reissue`, { attestation, public_jwk: jwk, ...overrides })

  return {
    jwk,
    jkt: Buffer.from(thumbprint).toString('base64url'),
    sign,
    enrolment,
    enrol,
    complete,
    reissue,
    /** A challenge of a full enrolment. */
    async challenge(): Promise<string> {
      const { status, body, text } = await enrol()
      if (status !== 200) throw new Error(`/enrol answered ${String(status)}: ${text}`)
      return String(body['challenge'])
    },
    /** The whole ceremony, to the attestation. Throws when any step is refused. */
    async attest(): Promise<string> {
      const { status, body, text } = await complete(await this.challenge())
      if (status !== 200) throw new Error(`/enrol/complete answered ${String(status)}: ${text}`)
      return String(body['attestation'])
    },
    /** A renewal, to the new attestation. Throws when any step is refused. */
    async renew(attestation: string): Promise<string> {
      const asked = await reissue(attestation)
      if (asked.status !== 200) throw new Error(`/reissue answered ${String(asked.status)}: ${asked.text}`)
      const { status, body, text } = await complete(asked.body['challenge'])
      if (status !== 200) throw new Error(`/enrol/complete answered ${String(status)}: ${text}`)
      return String(body['attestation'])
    },
  }
}

export type Device = Awaited<ReturnType<typeof createDevice>>

/** Header and payload of a compact JWS. */
export const decodeJws = (jws: string): { readonly header: Json; readonly payload: Json } => {
  const [header = '', payload = ''] = jws.split('.').map((part) => Buffer.from(part, 'base64url').toString())
  return { header: JSON.parse(header) as Json, payload: JSON.parse(payload) as Json }
}

/** The plugin with the second factor `word`, whose right value is `right`, and a status provider if `status`. */
export const doublePlugin = (options: Json = {}): Json => ({
  use: join(packageRoot, 'test/support/server/attestation-double/index.ts'),
  options,
})

/** Arguments of Node for the built product's `start`, which loads the double as any other module through `tsx`. */
export const productWithDouble = (file: string): readonly string[] => [
  '--import',
  'tsx',
  join(packageRoot, 'dist/core/main.js'),
  'start',
  '--config',
  file,
]

/** Adds the ceremony, with the double for its second factor, to a configuration. */
export const withAttestation =
  (section: Json = {}, plugin: Json = {}) =>
  (written: Json): Json => ({
    ...written,
    attestation: section,
    plugins: [...(written['plugins'] as Json[]), doublePlugin(plugin)],
  })
