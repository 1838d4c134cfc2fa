import { createHash } from 'node:crypto'
import { calculateJwkThumbprint, createRemoteJWKSet, EmbeddedJWK, jwtVerify } from 'jose'

/** `seen` remembers for two minutes: true for an id that it has not heard before. */
export const createVerifier = (issuer, audience, seen) => {
  const keySet = createRemoteJWKSet(new URL(`${issuer}/jwks.json`))

  return async (attestation, proof) => {
    const expected = { issuer, typ: 'device-attestation+jwt', algorithms: ['ES256'] }
    const { payload } = await jwtVerify(attestation, keySet, {
      ...expected,
      requiredClaims: ['exp', 'sub', 'did', 'cnf'],
    })
    if (payload.att?.status !== 'active') throw new Error('The attestation is not active.')

    const mine = { typ: 'request-proof+jwt', algorithms: ['ES256'], audience, maxTokenAge: '60s' }
    const { payload: said, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, { ...mine, requiredClaims: ['jti'] })
    if ((await calculateJwkThumbprint(protectedHeader.jwk)) !== payload.cnf.jkt) throw new Error('The key is another.')
    if (said.ath !== createHash('sha256').update(attestation).digest('base64url'))
      throw new Error('The proof is for another attestation.')
    if (!(await seen(`${payload.cnf.jkt}.${said.jti}`))) throw new Error('The proof was used before.')
    return payload
  }
}
