import { constants, type KeyObject, type SigningOptions } from 'node:crypto'
import { isEd25519Point } from './ed25519-point.js'

export interface KeyTypeRow {
  /**
   * Where a key in this process signs: quick algorithms on the event loop, those that take 250 µs or more on the
   * thread pool.
   */
  readonly signedOn: 'loop' | 'pool'
  /**
   * Where a signature is verified: algorithms that take 15 to 60 µs on the event loop, those that take 450 µs on the
   * thread pool.
   */
  readonly verifiedOn: 'loop' | 'pool'
  readonly kty: 'RSA' | 'EC' | 'OKP'
  readonly crv?: string
  /** The required members, in the order of a thumbprint (RFC 7638 §3.2). */
  readonly members: readonly string[]
  /** Node's name of the type and of its curve. */
  readonly node: { readonly type: 'rsa' | 'ec' | 'ed25519'; readonly namedCurve?: string }
  /** Bytes of one coordinate, or of the public key of Ed25519. */
  readonly coordinateBytes?: number
  /** For RSA, bits of the modulus (RFC 7518 §3.3), with a maximum that keeps verification cheap (RFC 8725 §3.4). */
  readonly modulusBits?: { readonly min: number; readonly max: number }
  /** A check that OpenSSL does not make when it imports a public key. */
  readonly isPoint?: (encoding: Uint8Array) => boolean
}

export interface AlgorithmRow {
  readonly keyType: KeyType
  /**
   * The hash of `at_hash` (OIDC Core §3.1.3.6): the algorithm's own; for Ed25519, the one inside it (RFC 8032 §5.1).
   */
  readonly accessTokenHash: 'sha256' | 'sha384' | 'sha512'
  /** The algorithm argument of `crypto.sign` and `crypto.verify`. Ed25519 takes none. */
  readonly digest: string | null
  readonly options: Readonly<SigningOptions>
  /** Bytes of a signature. For RSA, as many as the modulus has. */
  readonly signatureBytes: number | 'modulus'
  /** Whether FAPI 2.0 Security Profile §5.4.1 admits it. */
  readonly fapi: boolean
}

/**
 * 65537 is the only public exponent accepted: with `e = 1` anybody can sign, and a huge one makes verification slow.
 */
export const publicExponent = 'AQAB'

const keyTypeRows = {
  RSA: {
    kty: 'RSA',
    members: ['e', 'kty', 'n'],
    node: { type: 'rsa' },
    modulusBits: { min: 2048, max: 4096 },
    signedOn: 'pool',
    verifiedOn: 'loop',
  },
  'P-256': {
    kty: 'EC',
    crv: 'P-256',
    members: ['crv', 'kty', 'x', 'y'],
    node: { type: 'ec', namedCurve: 'prime256v1' },
    coordinateBytes: 32,
    signedOn: 'loop',
    verifiedOn: 'loop',
  },
  'P-384': {
    kty: 'EC',
    crv: 'P-384',
    members: ['crv', 'kty', 'x', 'y'],
    node: { type: 'ec', namedCurve: 'secp384r1' },
    coordinateBytes: 48,
    signedOn: 'pool',
    verifiedOn: 'pool',
  },
  Ed25519: {
    kty: 'OKP',
    crv: 'Ed25519',
    members: ['crv', 'kty', 'x'],
    node: { type: 'ed25519' },
    coordinateBytes: 32,
    isPoint: isEd25519Point,
    signedOn: 'loop',
    verifiedOn: 'loop',
  },
} as const satisfies Readonly<Record<string, KeyTypeRow>>

/** The key types known here: `kty` for RSA, `crv` for the others (RFC 7518 §6, RFC 8037 §2). */
export type KeyType = keyof typeof keyTypeRows

/** The curves of one `kty`. */
export type CurveOf<Kty extends KeyTypeRow['kty']> = Extract<
  (typeof keyTypeRows)[KeyType],
  { readonly kty: Kty; readonly crv: string }
>['crv']

export const keyTypes: Readonly<Record<KeyType, KeyTypeRow>> = keyTypeRows

/** Every member that some key type requires, except `kty`. */
export const publicMembers: readonly string[] = [
  ...new Set(Object.values(keyTypes).flatMap(({ members }) => members)),
].filter((name) => name !== 'kty')

/** Private members of RSA, EC, OKP and AKP keys, and the symmetric one (RFC 7518 §6.2.2, §6.3.2, §6.4.1). */
export const secretJwkMembers: readonly string[] = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv', 'seed']

/** The type of a public key, or undefined if it is not known here. */
export const keyTypeOf = ({ kty, crv }: { readonly kty?: unknown; readonly crv?: unknown }): KeyType | undefined =>
  (Object.keys(keyTypeRows) as KeyType[]).find((name) => keyTypes[name].kty === kty && keyTypes[name].crv === crv)

const pkcs1 = { padding: constants.RSA_PKCS1_PADDING } as const
/** RFC 7518 §3.5: the salt has the length of the hash. */
const pss256 = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 } as const
/** RFC 7518 §3.4: r||s, not DER. */
const ecdsa = { dsaEncoding: 'ieee-p1363' } as const

const algorithmRows = {
  RS256: {
    keyType: 'RSA',
    accessTokenHash: 'sha256',
    digest: 'sha256',
    options: pkcs1,
    signatureBytes: 'modulus',
    fapi: false,
  },
  RS384: {
    keyType: 'RSA',
    accessTokenHash: 'sha384',
    digest: 'sha384',
    options: pkcs1,
    signatureBytes: 'modulus',
    fapi: false,
  },
  RS512: {
    keyType: 'RSA',
    accessTokenHash: 'sha512',
    digest: 'sha512',
    options: pkcs1,
    signatureBytes: 'modulus',
    fapi: false,
  },
  PS256: {
    keyType: 'RSA',
    accessTokenHash: 'sha256',
    digest: 'sha256',
    options: pss256,
    signatureBytes: 'modulus',
    fapi: true,
  },
  ES256: {
    keyType: 'P-256',
    accessTokenHash: 'sha256',
    digest: 'sha256',
    options: ecdsa,
    signatureBytes: 64,
    fapi: true,
  },
  ES384: {
    keyType: 'P-384',
    accessTokenHash: 'sha384',
    digest: 'sha384',
    options: ecdsa,
    signatureBytes: 96,
    fapi: false,
  },
  EdDSA: { keyType: 'Ed25519', accessTokenHash: 'sha512', digest: null, options: {}, signatureBytes: 64, fapi: true },
} as const satisfies Readonly<Record<string, AlgorithmRow>>

/** The signing algorithms of issued tokens (RFC 7518 §3.1, RFC 8037 §3.1). HS* and `none` are not supported. */
export type JwsAlg = keyof typeof algorithmRows

/** The only table of algorithms. To add one, add its row here; a new key type also needs a row above. */
export const algorithms: Readonly<Record<JwsAlg, AlgorithmRow>> = algorithmRows

/** Bytes of the longest signature that an accepted key can make. */
export const longestSignature: number = Math.max(
  ...Object.values(algorithms).map(({ keyType, signatureBytes }) =>
    signatureBytes === 'modulus' ? (keyTypes[keyType].modulusBits?.max ?? 0) / 8 : signatureBytes,
  ),
)

/** Every algorithm, in the order of the table. */
export const allAlgorithms = Object.keys(algorithms) as readonly JwsAlg[]

/** Whether untrusted input is the name of an algorithm known here. */
export const isJwsAlg = (value: unknown): value is JwsAlg =>
  typeof value === 'string' && Object.hasOwn(algorithms, value)

/** RFC 9864 §2.2 names the same signatures by their curve. Clients use either name. */
const otherNames: ReadonlyMap<string, JwsAlg> = new Map([['Ed25519', 'EdDSA']])

/** The algorithm that untrusted input names, under either of its names, or undefined if it is not known here. */
export const findAlgorithm = (name: unknown): JwsAlg | undefined => {
  if (isJwsAlg(name)) return name
  return typeof name === 'string' ? otherNames.get(name) : undefined
}

/** Every name accepted for signatures made by others, for the discovery document. */
export const understoodAlgorithms: readonly string[] = [...allAlgorithms, ...otherNames.keys()]

/**
 * The key in the form that `crypto.sign` and `crypto.verify` need for `alg`. It is read-only, so make it once per
 * key.
 */
export const keyInput = (alg: JwsAlg, key: KeyObject): { readonly key: KeyObject } & SigningOptions =>
  Object.freeze({ key, ...algorithms[alg].options })
