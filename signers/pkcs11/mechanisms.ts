import type { Attribute, Mechanism, RsaPSS } from 'pkcs11js'
import type { JwsAlg, PublicJwk } from '../../core/api/index.js'

/** What pkcs11js 2.1 has no names for (PKCS#11 3.0 §2.3.5, §2.3.14). */
const CKM_EDDSA = 0x1057
const CKM_EC_EDWARDS_KEY_PAIR_GEN = 0x1055
const CKM_ECDSA = 0x1041
const CKM_EC_KEY_PAIR_GEN = 0x1040
const CKM_RSA_PKCS_KEY_PAIR_GEN = 0x0
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
  /** The members of a public key that name it. */
  readonly jwk: Pick<EcJwk, 'kty' | 'crv'> | Pick<OkpJwk, 'kty' | 'crv'>
  readonly coordinateBytes: number
  /** The spellings of `CKA_EC_PARAMS`; the last is what we write. */
  readonly parameters: readonly string[]
}

interface MechanismRow {
  readonly keyType: number
  /** Absent: RSA. */
  readonly curve?: Curve
  readonly sign: Mechanism
  /** The mechanism signs a digest of the message that is made here; `CKM_ECDSA_SHA256` is missing in many tokens. */
  readonly digest?: 'sha256' | 'sha384'
  readonly generate: number
}

const rsa = { keyType: keyTypes.rsa, generate: CKM_RSA_PKCS_KEY_PAIR_GEN } as const
const ecdsa = { keyType: keyTypes.ec, sign: { mechanism: CKM_ECDSA }, generate: CKM_EC_KEY_PAIR_GEN } as const
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

export const mechanisms: Readonly<Record<JwsAlg, MechanismRow>> = {
  RS256: { ...rsa, sign: { mechanism: CKM_SHA256_RSA_PKCS } },
  RS384: { ...rsa, sign: { mechanism: CKM_SHA384_RSA_PKCS } },
  RS512: { ...rsa, sign: { mechanism: CKM_SHA512_RSA_PKCS } },
  PS256: { ...rsa, sign: { mechanism: CKM_SHA256_RSA_PKCS_PSS, parameter: pss } },
  ES256: { ...ecdsa, curve: p256, digest: 'sha256' },
  ES384: { ...ecdsa, curve: p384, digest: 'sha384' },
  EdDSA: {
    keyType: keyTypes.edwards,
    curve: ed25519,
    sign: { mechanism: CKM_EDDSA },
    generate: CKM_EC_EDWARDS_KEY_PAIR_GEN,
  },
}

/** The type of key that signs `alg`, in words. */
export const keyName = (alg: JwsAlg): string => mechanisms[alg].curve?.jwk.crv ?? 'RSA'

/** What the public half of a new key is made from. */
export const domainOf = (alg: JwsAlg): Attribute[] => {
  const spelling = mechanisms[alg].curve?.parameters.at(-1)
  if (spelling !== undefined) return [{ type: CKA_EC_PARAMS, value: Buffer.from(spelling, 'hex') }]
  return [
    { type: CKA_MODULUS_BITS, value: 2048 },
    { type: CKA_PUBLIC_EXPONENT, value: Buffer.from([1, 0, 1]) },
  ]
}
