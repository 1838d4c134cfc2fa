import { definePlugin } from '../../../core/api/index.js'
import type { SecondFactorDenied, SecondFactorVerifier } from '../../../core/api/attestation.js'
import { findAlgorithm, isSignedByAny, parseCompactJws } from '../../../core/api/internal.js'
import { checkToken } from './check-token.js'
import { options } from './options.js'
import { findGrant } from './rules.js'

const refuse = (reason: string): SecondFactorDenied => ({ ok: false, reason: `workload token: ${reason}` })

/**
 * A token that a platform issued to a workload: a cluster's service account, or a CI job. It enrols the principal
 * that a rule names, once.
 */
export default definePlugin({
  name: 'attestation/workload-jwt',
  apiVersion: 1,
  options,
  needs: ['clock', 'clockToleranceSeconds', 'issuer', 'issuerKeys', 'factorClaims'],
  create(
    { kind, issuer, jwks, jwks_uri, audience, algs, max_age_secs: maxAgeSeconds, rules },
    { clock, clockToleranceSeconds: toleranceSeconds, issuer: self, issuerKeys, factorClaims },
  ) {
    const checks = { issuer, audience: audience ?? self, maxAgeSeconds, toleranceSeconds, clock }
    // Keyed by issuer and not by kind: with two kinds for one issuer, a token would be accepted twice.
    const namespace = `workload_jwt:${issuer}`
    const verifier: SecondFactorVerifier = {
      kind,
      async verify({ principal }, { value }) {
        const jws = parseCompactJws(value)
        if (jws === undefined) return refuse('malformed')
        const { kid } = jws.header
        const alg = findAlgorithm(jws.header['alg'])
        if (alg === undefined || !algs.includes(alg)) return refuse('alg is not accepted')
        if (kid !== undefined && (typeof kid !== 'string' || kid.length > 256)) return refuse('kid is not a key name')
        const checked = checkToken(jws, checks)
        if (typeof checked === 'string') return refuse(checked)
        const keys = await issuerKeys.find({ issuer, jwks, jwks_uri }, { kid, alg })
        if (keys.length === 0) return refuse('no key of the issuer fits')
        if (!(await isSignedByAny(jws, keys))) return refuse('wrong signature')
        // Done after the signature check, because matching could be made slow with invented claims.
        const granted = findGrant(rules, jws.payload, principal)
        if (granted === undefined) return refuse('no rule allows it to enrol this principal')
        return { ok: true, ...granted, consume: () => factorClaims.claim(namespace, checked.id, checked.ttlSeconds) }
      },
    }
    return { secondFactors: [verifier] }
  },
})
