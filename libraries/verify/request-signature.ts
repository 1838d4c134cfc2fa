import { hash } from 'node:crypto'
import { requestSignatureType } from '../wire/names.js'
import { splitTarget } from '../wire/request-claims.js'
import { isTime, readCompact } from './jws.js'
import type { Message } from './message.js'
import { mostIdLength, type Proof } from './proof.js'
import { refused } from './refusal.js'

const sha256 = /^[0-9a-f]{64}$/
const isHash = (value: unknown): value is string | undefined =>
  value === undefined || (typeof value === 'string' && sha256.test(value))

/** Reads `X-Signature`. Throws `malformed`, `bad_alg`, `wrong_type`. */
export const readRequestSignature = (text: string, audience: string): Proof => {
  const { header, payload, input, signature } = readCompact(text)
  if (header['alg'] !== 'ES256') throw refused('bad_alg')
  if (header['typ'] !== requestSignatureType) throw refused('wrong_type')
  const { iat, exp, jti, mth, pth, aud, qsh, bdh } = payload
  if (!isTime(iat) || !isTime(exp) || !isHash(qsh) || !isHash(bdh)) throw refused('malformed')
  if (typeof jti !== 'string' || jti === '' || jti.length > mostIdLength) throw refused('malformed')
  return {
    jwk: header['jwk'],
    input,
    signature,
    issuedAt: iat,
    expiresAt: exp,
    id: jti,
    digest: bdh === undefined ? undefined : { encoding: 'hex', text: bdh },
    checkTarget({ method, target }: Message) {
      const { pth: path, query } = splitTarget(target)
      if (mth !== method) throw refused('method_mismatch')
      if (pth !== path || !path.startsWith('/')) throw refused('path_mismatch')
      if (aud !== audience) throw refused('audience_mismatch')
      if (qsh !== (query === undefined ? undefined : hash('sha256', query, 'hex'))) throw refused('query_mismatch')
    },
  }
}
