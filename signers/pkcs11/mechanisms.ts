import type { Attribute, Mechanism, RsaPSS } from 'pkcs11js'
import type { JwsAlg } from '../../core/api/index.js'

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

export const keyTypeNumbers = { rsa: 0x0, ec: 0x3, edwards: 0x40 } as const
export const CKA_MODULUS_BITS = 0x121
export const CKA_PUBLIC_EXPONENT = 0x122
export const CKA_EC_PARAMS = 0x180

interface MechanismRow {
  readonly keyType: number
  /** Of EC keys: the spellings of `CKA_EC_PARAMS`; the first is what we write. */
  readonly parameters?: readonly string[]
  /** The type of the key in words. */
  readonly keyName: string
  readonly sign: Mechanism
  /** The mechanism signs a digest of the message that is made here; `CKM_ECDSA_SHA256` is missing in many tokens. */
  readonly digest?: 'sha256' | 'sha384'
  readonly generate: number
}

const rsa = { keyType: keyTypeNumbers.rsa, keyName: 'RSA', generate: CKM_RSA_PKCS_KEY_PAIR_GEN } as const
const p256 = '06082a8648ce3d030107'
const p384 = '06052b81040022'
/** RFC 8410 §3, and the printable string of PKCS#11 3.0 §2.3.5. */
const ed25519 = ['06032b6570', '130c656477617264733235353139']

/** RFC 7518 §3.5: the salt is as long as the hash. */
const pss: RsaPSS = { type: CK_PARAMS_RSA_PSS, hashAlg: CKM_SHA256, mgf: CKG_MGF1_SHA256, saltLen: 32 }

export const mechanisms: Readonly<Record<JwsAlg, MechanismRow>> = {
  RS256: { ...rsa, sign: { mechanism: CKM_SHA256_RSA_PKCS } },
  RS384: { ...rsa, sign: { mechanism: CKM_SHA384_RSA_PKCS } },
  RS512: { ...rsa, sign: { mechanism: CKM_SHA512_RSA_PKCS } },
  PS256: { ...rsa, sign: { mechanism: CKM_SHA256_RSA_PKCS_PSS, parameter: pss } },
  ES256: {
    keyType: keyTypeNumbers.ec,
    parameters: [p256],
    keyName: 'P-256',
    sign: { mechanism: CKM_ECDSA },
    digest: 'sha256',
    generate: CKM_EC_KEY_PAIR_GEN,
  },
  ES384: {
    keyType: keyTypeNumbers.ec,
    parameters: [p384],
    keyName: 'P-384',
    sign: { mechanism: CKM_ECDSA },
    digest: 'sha384',
    generate: CKM_EC_KEY_PAIR_GEN,
  },
  EdDSA: {
    keyType: keyTypeNumbers.edwards,
    parameters: ed25519,
    keyName: 'Ed25519',
    sign: { mechanism: CKM_EDDSA },
    generate: CKM_EC_EDWARDS_KEY_PAIR_GEN,
  },
}

/** What the public half of a new key is made from. */
export const domainOf = (alg: JwsAlg): Attribute[] => {
  const [spelling] = [...(mechanisms[alg].parameters ?? [])].reverse()
  if (spelling !== undefined) return [{ type: CKA_EC_PARAMS, value: Buffer.from(spelling, 'hex') }]
  return [
    { type: CKA_MODULUS_BITS, value: 2048 },
    { type: CKA_PUBLIC_EXPONENT, value: Buffer.from([1, 0, 1]) },
  ]
}
