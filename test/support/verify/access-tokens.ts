import { randomUUID } from 'node:crypto'
import { accessTokenHash, createProver, type Prover, type Wish } from '../clients/dpop-proof.js'
import type { TestIssuer } from './attested-device.js'

type Json = Record<string, unknown>

/** Access tokens of a test issuer, and proofs for them as a client makes them for `origin`. `clock`: milliseconds since the epoch. */
export const createTokens = (
  issuer: Pick<TestIssuer, 'issuer' | 'sign'>,
  audience: string,
  origin: string,
  clock: () => number,
) => {
  const prover = createProver('ES256', clock)
  const token = (claims: Json = {}, header: Json = {}): string => {
    const iat = Math.floor(clock() / 1000)
    const all = { iss: issuer.issuer, sub: 'alice', client_id: 'web', aud: audience, iat, exp: iat + 300 }
    return issuer.sign({ typ: 'at+jwt', ...header }, { ...all, jti: randomUUID(), scope: 'read write', ...claims })
  }
  const proof = (accessToken: string, { claims, ...wish }: Wish = {}, target = '/a', by: Prover = prover): string =>
    by.proof(`${origin}${target}`, undefined, {
      ...wish,
      claims: { htm: 'GET', ath: accessTokenHash(accessToken), ...claims },
    })
  return {
    prover,
    token,
    bound: (claims: Json = {}) => token({ cnf: { jkt: prover.jkt }, ...claims }),
    proof,
    /** A request with these headers, and nothing that is undefined. */
    request: (headers: Readonly<Record<string, string | undefined>>, target = '/a', init: RequestInit = {}) =>
      new Request(`${origin}${target}`, {
        ...init,
        headers: JSON.parse(JSON.stringify(headers)) as Record<string, string>,
      }),
  }
}
