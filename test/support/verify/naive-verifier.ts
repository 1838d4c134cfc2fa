import { compactVerify, importJWK, calculateJwkThumbprint, decodeProtectedHeader, decodeJwt, type JWK } from 'jose'
import type { IncomingMessage } from 'node:http'
import { hexSha256 } from './attested-device.js'

interface Attested {
  readonly iss: string
  readonly sub: string
  readonly iat: number
  readonly exp: number
  readonly cnf: { readonly jkt: string }
  readonly did: string
  readonly att: { readonly status: string }
}
type Said = Readonly<Record<'jti' | 'mth' | 'pth' | 'aud', string>> & { readonly iat: number; readonly exp: number } & {
  readonly [hash in 'qsh' | 'bdh']?: string
}

/**
 * A double: a verifier that speaks the same wire format and does what an open-source one does, without what this product
 * adds. Each weakness of the tests is one that this accepts. It throws the name of the check that failed.
 */
export const createNaiveVerifier = (options: {
  readonly issuer: string
  readonly jwks: () => { readonly keys: readonly (JWK & { readonly kid: string })[] }
  readonly audience: string
  readonly clock: () => number
  readonly skew: number
}) => {
  const { issuer, audience, clock, skew } = options
  const seen = new Map<string, number>()
  return async (request: IncomingMessage): Promise<{ readonly subject: unknown; readonly device: unknown }> => {
    // The body comes first: all of it.
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks)
    const headers = request.headersDistinct
    const attestation = headers['x-attestation']?.[0]
    const signature = headers['x-signature']?.[0]
    if (attestation === undefined || signature === undefined) throw new Error('missing_credential')

    const now = clock() / 1000
    const { kid } = decodeProtectedHeader(attestation)
    const jwk = options.jwks().keys.find((key) => key.kid === kid)
    if (!jwk) throw new Error('unknown_kid')
    await compactVerify(attestation, await importJWK(jwk, 'ES256'), { algorithms: ['ES256'] })
    const attested = decodeJwt<Attested>(attestation)
    if (attested.iss !== issuer) throw new Error('untrusted_issuer')
    if (now < attested.iat - skew || now > attested.exp + skew) throw new Error('attestation_expired')
    if (attested.att.status !== 'active') throw new Error('device_not_active')

    const embedded = decodeProtectedHeader(signature).jwk as JWK
    if ((await calculateJwkThumbprint(embedded)) !== attested.cnf.jkt) throw new Error('key_not_bound')
    await compactVerify(signature, await importJWK(embedded, 'ES256'), { algorithms: ['ES256'] })
    const said = decodeJwt<Said>(signature)
    if (now < said.iat - skew || now > said.exp + skew) throw new Error('signature_expired')
    const [path, query] = (request.url ?? '').split('?')
    if (said.mth !== request.method) throw new Error('method_mismatch')
    if (said.pth !== path) throw new Error('path_mismatch')
    if (said.aud !== audience) throw new Error('audience_mismatch')
    if (query !== undefined && said.qsh !== hexSha256(query)) throw new Error('query_mismatch')
    if (body.length > 0 && said.bdh !== hexSha256(body)) throw new Error('body_mismatch')

    for (const [id, end] of seen) if (end < now) seen.delete(id)
    if (seen.has(said.jti)) throw new Error('replay_detected')
    seen.set(said.jti, said.exp)
    return { subject: attested.sub, device: attested.did }
  }
}
