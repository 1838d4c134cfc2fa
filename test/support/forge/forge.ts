import { sign, type KeyObject } from 'node:crypto'

const encode = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')

/**
 * A token with the issuer's own key, which nobody outside has: so that only what is in it can be why it is refused.
 * `header` and `claims` may be JSON text, for what `JSON.stringify` cannot say.
 */
export const forge = (key: KeyObject, header: unknown, claims: unknown): string => {
  const input = `${encode(header)}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

export const part = (token: string, index: number): string => token.split('.')[index] ?? ''

export const decode = (token: string, index: number): Record<string, unknown> =>
  JSON.parse(Buffer.from(part(token, index), 'base64url').toString()) as Record<string, unknown>
