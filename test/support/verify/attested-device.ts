import { createHash, generateKeyPairSync, randomUUID, sign, type KeyObject } from 'node:crypto'

type Json = Record<string, unknown>

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

const compact = (header: object, payload: object, key: KeyObject): string => {
  const input = `${encode(header)}.${encode(payload)}`
  const signature = sign('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' })
  return `${input}.${signature.toString('base64url')}`
}

export const hexSha256 = (text: string | Uint8Array): string => createHash('sha256').update(text).digest('hex')

const newKey = () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' }) as { x?: string; y?: string }
  const jwk = { kty: 'EC', crv: 'P-256', x, y } as const
  const members = JSON.stringify({ crv: jwk.crv, kty: jwk.kty, x, y })
  return { privateKey, jwk, jkt: createHash('sha256').update(members).digest('base64url') }
}

/** An issuer that attests whatever a test wants; the product's own is in the flows. `clock`: milliseconds since the epoch. */
export const createTestIssuer = (issuer: string, clock: () => number) => {
  let key = newKey()
  let kid = 'one'
  const seconds = () => Math.floor(clock() / 1000)
  const publicJwk = () => ({ ...key.jwk, kid, alg: 'ES256', use: 'sig' })
  return {
    issuer,
    publicJwk,
    jwks: () => ({ keys: [publicJwk()] }),
    /** From now on another key signs, and it alone is published. */
    rotate(next: string) {
      key = newKey()
      kid = next
    },
    attest(jkt: string, claims: Json = {}, header: Json = {}): string {
      const iat = seconds()
      const all = {
        iss: issuer,
        sub: 'alice',
        iat,
        nbf: iat,
        exp: iat + 3600,
        jti: randomUUID(),
        cnf: { jkt },
        did: 'phone-1',
        principal_type: 'device',
        att: { model: 'P1', status: 'active' },
        ...claims,
      }
      return compact({ alg: 'ES256', kid, typ: 'device-attestation+jwt', ...header }, all, key.privateKey)
    },
    /** Any token by the key that is published. */
    sign: (header: Json, payload: Json) => compact({ alg: 'ES256', kid, ...header }, payload, key.privateKey),
  }
}

export type TestIssuer = ReturnType<typeof createTestIssuer>

/** What a request signature is about; the claims follow from it as from `device.sign`. */
export interface Signed {
  readonly method?: string
  readonly target?: string
  readonly body?: string
  readonly audience: string
  readonly claims?: Json
  readonly header?: Json
}

export const createTestDevice = (clock: () => number) => {
  const { privateKey, jwk, jkt } = newKey()
  return {
    jwk,
    jkt,
    /** The key as `signet-idp/device` has it. */
    key: {
      publicJwk: jwk,
      sign: (input: Uint8Array) =>
        Promise.resolve(new Uint8Array(sign('sha256', input, { key: privateKey, dsaEncoding: 'ieee-p1363' }))),
    },
    signature({ method = 'GET', target = '/', body = '', audience, claims = {}, header = {} }: Signed): string {
      const iat = Math.floor(clock() / 1000)
      const [path, query = ''] = target.split('?')
      const all = {
        iat,
        exp: iat + 60,
        jti: randomUUID(),
        mth: method,
        pth: path,
        aud: audience,
        ...(query !== '' && { qsh: hexSha256(query) }),
        ...(body !== '' && { bdh: hexSha256(body) }),
        ...claims,
      }
      return compact({ alg: 'ES256', typ: 'device-signature+jwt', jwk, ...header }, all, privateKey)
    },
  }
}

export type TestDevice = ReturnType<typeof createTestDevice>
