import type { Attribute, Handle, Mechanism, PKCS11, RsaPSS } from 'pkcs11js'
import type { JwsAlg, PublicJwk } from '../../core/api/signer.js'
import { codeOf, TokenFailure } from './return-codes.js'

/** Constants missing in pkcs11js 2.1 (PKCS#11 3.0 §2.3.5, §2.3.14). */
const CKM_EDDSA = 0x1057
const CKM_EC_EDWARDS_KEY_PAIR_GEN = 0x1055
const CKM_ECDSA = 0x1041
const CKM_EC_KEY_PAIR_GEN = 0x1040
const CKM_RSA_PKCS_KEY_PAIR_GEN = 0x0
const CKM_RSA_PKCS = 0x1
const CKM_RSA_PKCS_PSS = 0xd
const CKM_SHA256_RSA_PKCS = 0x40
const CKM_SHA384_RSA_PKCS = 0x41
const CKM_SHA512_RSA_PKCS = 0x42
const CKM_SHA256_RSA_PKCS_PSS = 0x43
const CKM_SHA256 = 0x250
const CKG_MGF1_SHA256 = 0x2
/** pkcs11js's own number for the parameters of PSS. */
const CK_PARAMS_RSA_PSS = 5

const keyTypes = { rsa: 0x0, ec: 0x3, edwards: 0x40 } as const
export const CKA_MODULUS_BITS = 0x121
export const CKA_PUBLIC_EXPONENT = 0x122
export const CKA_EC_PARAMS = 0x180

type EcJwk = Extract<PublicJwk, { readonly kty: 'EC' }>
type OkpJwk = Extract<PublicJwk, { readonly kty: 'OKP' }>

interface Curve {
  /** The members that identify the type of public key. */
  readonly jwk: Pick<EcJwk, 'kty' | 'crv'> | Pick<OkpJwk, 'kty' | 'crv'>
  readonly coordinateBytes: number
  /** The spellings of `CKA_EC_PARAMS`. We write the last one. */
  readonly parameters: readonly string[]
}

/** How a token signs with an algorithm. */
export interface SigningWay {
  /** The PKCS#11 name of the mechanism. */
  readonly name: string
  readonly sign: Mechanism
  /** Set when the mechanism signs a digest computed here; many tokens lack `CKM_ECDSA_SHA256`. */
  readonly digest?: 'sha256' | 'sha384' | 'sha512'
  /** Precedes the digest, in hexadecimal. Together they are the DigestInfo of RFC 8017 §9.2. */
  readonly prefix?: string
}

interface MechanismRow {
  readonly keyType: number
  /** What the token reports about the public half: a modulus, or a point on this curve. */
  readonly half: 'modulus' | Curve
  /** In order of preference, because not every token has the first. */
  readonly ways: readonly [SigningWay, ...SigningWay[]]
  readonly generate: number
  readonly generateName: string
}

const rsa = {
  keyType: keyTypes.rsa,
  half: 'modulus',
  generate: CKM_RSA_PKCS_KEY_PAIR_GEN,
  generateName: 'CKM_RSA_PKCS_KEY_PAIR_GEN',
} as const
const ec = { keyType: keyTypes.ec, generate: CKM_EC_KEY_PAIR_GEN, generateName: 'CKM_EC_KEY_PAIR_GEN' } as const
const ecdsa = { name: 'CKM_ECDSA', sign: { mechanism: CKM_ECDSA } } as const
const p256: Curve = { jwk: { kty: 'EC', crv: 'P-256' }, coordinateBytes: 32, parameters: ['06082a8648ce3d030107'] }
const p384: Curve = { jwk: { kty: 'EC', crv: 'P-384' }, coordinateBytes: 48, parameters: ['06052b81040022'] }
/** RFC 8410 §3, and the printable string of PKCS#11 3.0 §2.3.5. */
const ed25519: Curve = {
  jwk: { kty: 'OKP', crv: 'Ed25519' },
  coordinateBytes: 32,
  parameters: ['06032b6570', '130c656477617264733235353139'],
}

/** RFC 7518 §3.5: the salt is as long as the hash. */
const pss: RsaPSS = { type: CK_PARAMS_RSA_PSS, hashAlg: CKM_SHA256, mgf: CKG_MGF1_SHA256, saltLen: 32 }

/** For tokens that hash, or else that sign the DigestInfo (RFC 8017 §9.2, note 1) of a digest computed here. */
const pkcs1 = (name: string, mechanism: number, digest: SigningWay['digest'] & string, prefix: string) =>
  [
    { name, sign: { mechanism } },
    { name: 'CKM_RSA_PKCS', sign: { mechanism: CKM_RSA_PKCS }, digest, prefix },
  ] as const

export const mechanisms: Readonly<Record<JwsAlg, MechanismRow>> = {
  RS256: {
    ...rsa,
    ways: pkcs1('CKM_SHA256_RSA_PKCS', CKM_SHA256_RSA_PKCS, 'sha256', '3031300d060960864801650304020105000420'),
  },
  RS384: {
    ...rsa,
    ways: pkcs1('CKM_SHA384_RSA_PKCS', CKM_SHA384_RSA_PKCS, 'sha384', '3041300d060960864801650304020205000430'),
  },
  RS512: {
    ...rsa,
    ways: pkcs1('CKM_SHA512_RSA_PKCS', CKM_SHA512_RSA_PKCS, 'sha512', '3051300d060960864801650304020305000440'),
  },
  PS256: {
    ...rsa,
    ways: [
      { name: 'CKM_SHA256_RSA_PKCS_PSS', sign: { mechanism: CKM_SHA256_RSA_PKCS_PSS, parameter: pss } },
      // p11-kit 0.24 transports the parameters of this mechanism only.
      { name: 'CKM_RSA_PKCS_PSS', sign: { mechanism: CKM_RSA_PKCS_PSS, parameter: pss }, digest: 'sha256' },
    ],
  },
  ES256: { ...ec, half: p256, ways: [{ ...ecdsa, digest: 'sha256' }] },
  ES384: { ...ec, half: p384, ways: [{ ...ecdsa, digest: 'sha384' }] },
  EdDSA: {
    keyType: keyTypes.edwards,
    half: ed25519,
    ways: [{ name: 'CKM_EDDSA', sign: { mechanism: CKM_EDDSA } }],
    generate: CKM_EC_EDWARDS_KEY_PAIR_GEN,
    generateName: 'CKM_EC_EDWARDS_KEY_PAIR_GEN',
  },
}

const CKF_SIGN = 0x800
const CKF_GENERATE_KEY_PAIR = 0x10000
const CKR_MECHANISM_INVALID = 0x70

/** False when the token reports that the mechanism is missing or has another use. No answer does not mean no. */
const has = (lib: PKCS11, slot: Handle, mechanism: number, flag: number): boolean => {
  try {
    const { flags } = lib.C_GetMechanismInfo(slot, mechanism)
    return flags === 0 || (flags & flag) !== 0
  } catch (error) {
    return codeOf(error) !== CKR_MECHANISM_INVALID
  }
}

/** How this token signs `alg`. Throws `TokenFailure` with the names of the missing mechanisms. */
export const findWay = (lib: PKCS11, slot: Handle, alg: JwsAlg): SigningWay => {
  const { ways } = mechanisms[alg]
  const found = ways.find(({ sign }) => has(lib, slot, sign.mechanism, CKF_SIGN))
  if (found !== undefined) return found
  const names = ways.map(({ name }) => name).join(' and no ')
  throw new TokenFailure('refused', `the token has no ${names}, which ${alg} needs`)
}

/** Throws `TokenFailure` when the token reports that it does not create such keys. */
export const checkMakes = (lib: PKCS11, slot: Handle, alg: JwsAlg): void => {
  const { generate, generateName } = mechanisms[alg]
  if (has(lib, slot, generate, CKF_GENERATE_KEY_PAIR)) return
  throw new TokenFailure('refused', `the token has no ${generateName}, which makes keys for ${alg}`)
}

/** The key type for `alg`, in words. */
export const keyName = (alg: JwsAlg): string => {
  const { half } = mechanisms[alg]
  return half === 'modulus' ? 'RSA' : half.jwk.crv
}

/** The domain parameters of a new key's public half. */
export const domainOf = (alg: JwsAlg): Attribute[] => {
  const { half } = mechanisms[alg]
  if (half !== 'modulus') return [{ type: CKA_EC_PARAMS, value: Buffer.from(half.parameters.at(-1) ?? '', 'hex') }]
  return [
    { type: CKA_MODULUS_BITS, value: 2048 },
    { type: CKA_PUBLIC_EXPONENT, value: Buffer.from([1, 0, 1]) },
  ]
}
