import { hash } from 'node:crypto'
import { isOfType } from '../wire/media-type.js'
import { requestSignatureType } from '../wire/names.js'
import { readRequestClaims, splitTarget, targetProblem } from '../wire/request-claims.js'
import { readCompact } from './jws.js'
import type { Proof } from './proof.js'
import { refused } from './refusal.js'

const sha256 = (text: string): string => hash('sha256', text, 'hex')

/** Parses `X-Signature`. Throws `malformed`, `bad_alg`, `wrong_type`. */
export const readRequestSignature = (text: string, audience: string): Proof => {
  const { header, payload, input, signature } = readCompact(text)
  if (header['alg'] !== 'ES256') throw refused('bad_alg')
  if (!isOfType(header['typ'], requestSignatureType)) throw refused('wrong_type')
  const claims = readRequestClaims(payload)
  if (!claims) throw refused('malformed')
  const { iat, exp, jti, bdh } = claims
  return {
    jwk: header['jwk'],
    input,
    signature,
    issuedAt: iat,
    expiresAt: exp,
    id: jti,
    digest: bdh === undefined ? undefined : { encoding: 'hex', text: bdh },
    checkTarget({ method, target }) {
      const problem = targetProblem(claims, { method, ...splitTarget(target) }, audience, sha256)
      if (problem) throw refused(problem)
    },
  }
}
