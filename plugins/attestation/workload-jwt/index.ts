import { definePlugin } from '../../../core/api/index.js'
import type { SecondFactorDenied, SecondFactorVerifier } from '../../../core/api/attestation.js'
import { findAlgorithm, isSignedByAny, parseCompactJws } from '../../../core/api/internal.js'
import { checkToken } from './check-token.js'
import { options } from './options.js'
import { findGrant } from './rules.js'

const refuse = (reason: string): SecondFactorDenied => ({ ok: false, reason: `workload token: ${reason}` })

/** A token that a platform gave a workload: a cluster's service account, a job of CI. It enrols whom a rule says, once. */
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
    // Of the issuer, not of the kind: with two kinds of one issuer a token would pass twice.
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
        // After the signature: matching what anybody made up could be made slow.
        const granted = findGrant(rules, jws.payload, principal)
        if (granted === undefined) return refuse('no rule allows it to enrol this principal')
        return { ok: true, ...granted, consume: () => factorClaims.claim(namespace, checked.id, checked.ttlSeconds) }
      },
    }
    return { secondFactors: [verifier] }
  },
})
