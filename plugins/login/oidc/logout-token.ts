import { isObject, type JsonObject, type Services } from '../../../core/api/index.js'
import {
  findTimeFault,
  isJti,
  isNumericDate,
  isSignedByAny,
  parseCompactJws,
  readJwtHeader,
} from '../../../core/api/internal.js'

export interface LogoutTokenRules extends Pick<Services, 'clock' | 'clockToleranceSeconds' | 'issuerKeys'> {
  readonly issuer: string
  readonly clientId: string
  readonly jwksUri: string
}

/** The ended sessions in the provider's terms. At least one of `sub` and `sid` is present. */
export interface UpstreamEnd {
  readonly sub?: string
  readonly sid?: string
  /** Seconds since the epoch. */
  readonly issuedAt: number
  readonly jti: string
}

/** The type recommended by OIDC Back-Channel Logout §2.4, and those that older providers send. */
const types: readonly unknown[] = ['logout+jwt', 'JWT', undefined]
const event = 'http://schemas.openid.net/event/backchannel-logout'

const name = (value: unknown): string | undefined =>
  typeof value === 'string' && value !== '' && value.length <= 255 ? value : undefined

const findFault = (
  { iss, aud, iat, jti, events, ...claims }: JsonObject,
  rules: LogoutTokenRules,
): string | undefined => {
  if (iss !== rules.issuer) return 'iss is another issuer'
  if (!(Array.isArray(aud) ? aud : [aud]).includes(rules.clientId)) return 'aud is another client'
  if (!isNumericDate(iat)) return 'iat is not a time'
  if (!isJti(jti)) return 'jti is missing or too long'
  if ('nonce' in claims) return 'a logout token has no nonce'
  if (!isObject(events) || !isObject(events[event])) return 'events is of another token'
  if (name(claims['sub']) === undefined && name(claims['sid']) === undefined) return 'neither sub nor sid'
  const { clock, clockToleranceSeconds: toleranceSeconds } = rules
  return findTimeFault({ ...claims, iat }, { clock, toleranceSeconds })
}

/** Checks a logout token (OIDC Back-Channel Logout §2.6). Returns why it is refused, in constant words. Throws `Unavailable`. */
export const readLogoutToken = async (token: string, rules: LogoutTokenRules): Promise<UpstreamEnd | string> => {
  const jws = parseCompactJws(token)
  if (jws === undefined) return 'not a signed JWT'
  const wanted = readJwtHeader(jws.header, { types })
  if (typeof wanted === 'string') return wanted
  const fault = findFault(jws.payload, rules)
  if (fault !== undefined) return fault
  const keys = await rules.issuerKeys.find({ issuer: rules.issuer, jwks_uri: rules.jwksUri }, wanted)
  if (!(await isSignedByAny(jws, keys))) return 'the signature is wrong'
  const [sub, sid] = [name(jws.payload['sub']), name(jws.payload['sid'])]
  return {
    issuedAt: jws.payload['iat'] as number,
    jti: jws.payload['jti'] as string,
    ...(sub !== undefined && { sub }),
    ...(sid !== undefined && { sid }),
  }
}
