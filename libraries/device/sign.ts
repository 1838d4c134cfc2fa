import { base64url, calculateJwkThumbprint } from 'jose'
import {
  attestationHeader,
  longestLifetimeSeconds,
  messageSignatureTag,
  requestSignatureType,
  signatureHeader,
} from '../wire/names.js'
import type { RequestClaims } from '../wire/request-claims.js'
import {
  signatureBase,
  writeSignatureKey,
  writeSignatureParams,
  type CoveredComponents,
} from '../wire/signature-base.js'
import { signCompact, type DeviceKey } from './key.js'

export interface SignOptions {
  /** The name of the verifier that the request is for. An HTTP message signature has the target URI instead. */
  readonly audience: string
  /** Seconds that the signature is valid. Default 60, at most 300. */
  readonly expiresIn?: number
  /** Default `jws`: headers `X-Attestation` and `X-Signature`. The other is an HTTP message signature (RFC 9421). */
  readonly form?: 'jws' | 'http-message-signature'
}

/** The inputs of a signature. `now` is in seconds since the epoch. */
export interface Signing {
  readonly attestation: string
  readonly key: DeviceKey
  readonly now: number
}

/** `now` is in seconds since the epoch. */
type Sign = (
  request: Request,
  key: DeviceKey,
  attestation: string,
  options: SignOptions,
  now: number,
) => Promise<Request>

export const addRequestSignature: Sign = async (request, key, attestation, { audience, expiresIn = 60 }, now) => {
  const { pathname, search } = new URL(request.url)
  const body = await bodyOf(request)
  const claims: RequestClaims = {
    ...lifetime(expiresIn, now),
    jti: crypto.randomUUID(),
    mth: request.method,
    pth: pathname,
    aud: audience,
    ...(search.length > 1 && { qsh: hex(await digest(new TextEncoder().encode(search.slice(1)))) }),
    ...(body && { bdh: hex(await digest(body)) }),
  }
  const signature = await signCompact(key, { typ: requestSignatureType, jwk: key.publicJwk }, claims)
  return withHeaders(request, body, { [attestationHeader]: attestation, [signatureHeader]: signature })
}

export const addHttpSignature: Sign = async (request, key, attestation, { expiresIn = 60 }, now) => {
  const url = new URL(request.url)
  url.hash = ''
  // `fetch` does not send a `?` without a query.
  if (url.search === '') url.search = ''
  const body = await bodyOf(request)
  const contentType = request.headers.get('content-type')
  const covered: CoveredComponents = {
    '@method': request.method,
    '@target-uri': url.href,
    ...(body && contentType !== null && { 'content-type': contentType }),
    ...(body && { 'content-digest': `sha-256=:${base64(await digest(body))}:` }),
    [attestationHeader]: attestation,
    'signature-key': writeSignatureKey(key.publicJwk),
  }
  const { iat: created, exp: expires } = lifetime(expiresIn, now)
  const keyid = await calculateJwkThumbprint(key.publicJwk)
  const nonce = crypto.randomUUID()
  const params = writeSignatureParams(covered, { created, expires, nonce, keyid, tag: messageSignatureTag })
  const signature = await key.sign(new TextEncoder().encode(signatureBase(covered, params)))
  return withHeaders(request, body, {
    [attestationHeader]: attestation,
    ...(covered['content-digest'] !== undefined && { 'content-digest': covered['content-digest'] }),
    'signature-key': covered['signature-key'],
    'signature-input': `sig=${params}`,
    signature: `sig=:${base64(signature)}:`,
  })
}

export const lifetime = (expiresIn: number, now: number): { readonly iat: number; readonly exp: number } => {
  if (!(expiresIn > 0 && expiresIn <= longestLifetimeSeconds))
    throw new RangeError(`expiresIn is at most ${String(longestLifetimeSeconds)} seconds`)
  const iat = Math.floor(now)
  return { iat, exp: iat + Math.ceil(expiresIn) }
}

/** Undefined if there is no body, or an empty one. */
const bodyOf = async (request: Request): Promise<Uint8Array<ArrayBuffer> | undefined> => {
  const bytes = new Uint8Array(await request.clone().arrayBuffer())
  return bytes.length === 0 ? undefined : bytes
}

export const digest = async (bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> =>
  new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')

const base64 = (bytes: Uint8Array): string =>
  base64url
    .encode(bytes)
    .replaceAll('-', '+')
    .replaceAll('_', '/')
    .padEnd(Math.ceil(bytes.length / 3) * 4, '=')

export const withHeaders = (
  request: Request,
  body: Uint8Array<ArrayBuffer> | undefined,
  added: Readonly<Record<string, string>>,
): Request => {
  const headers = new Headers(request.headers)
  for (const [name, value] of Object.entries(added)) headers.set(name, value)
  return new Request(request, { headers, ...(body && { body }) })
}
