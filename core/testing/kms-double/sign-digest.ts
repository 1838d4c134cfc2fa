/**
 * Signatures over a digest made elsewhere, which `node:crypto` does not offer: PKCS#1 v1.5 and PSS with the raw RSA
 * operation, ECDSA by its definition. For tests: nothing here runs in constant time.
 */
import { constants, createECDH, createHash, privateEncrypt, randomBytes, type KeyObject } from 'node:crypto'

type Hash = 'sha256' | 'sha384' | 'sha512'

/** RFC 8017 §9.2, note 1: DigestInfo without the digest. */
const digestInfo: Readonly<Record<Hash, string>> = {
  sha256: '3031300d060960864801650304020105000420',
  sha384: '3041300d060960864801650304020205000430',
  sha512: '3051300d060960864801650304020305000440',
}

/** RSASSA-PKCS1-v1_5 (RFC 8017 §8.2.1). */
export const signPkcs1 = (key: KeyObject, hash: Hash, digest: Buffer): Buffer =>
  privateEncrypt(
    { key, padding: constants.RSA_PKCS1_PADDING },
    Buffer.concat([Buffer.from(digestInfo[hash], 'hex'), digest]),
  )

/** RSASSA-PSS (RFC 8017 §8.1.1, §9.1.1) with a salt as long as the digest and MGF1 with the same hash. */
export const signPss = (key: KeyObject, hash: Hash, digest: Buffer): Buffer => {
  const length = (key.asymmetricKeyDetails?.modulusLength ?? 0) / 8
  const salt = randomBytes(digest.length)
  const h = createHash(hash).update(Buffer.alloc(8)).update(digest).update(salt).digest()
  const db = Buffer.alloc(length - digest.length - 1)
  db[db.length - salt.length - 1] = 1
  db.set(salt, db.length - salt.length)
  const mask = mgf1(h, db.length, hash)
  const masked = Buffer.from(db.map((byte, index) => byte ^ (mask[index] ?? 0)))
  // The modulus has a multiple of eight bits, so the message has one bit less than its bytes.
  masked[0] = (masked[0] ?? 0) & 0x7f
  return privateEncrypt({ key, padding: constants.RSA_NO_PADDING }, Buffer.concat([masked, h, Buffer.from([0xbc])]))
}

const mgf1 = (seed: Buffer, length: number, hash: Hash): Buffer => {
  const blocks: Buffer[] = []
  for (let made = 0; made < length; made += blocks.at(-1)?.length ?? 0) {
    const counter = Buffer.alloc(4)
    counter.writeUInt32BE(blocks.length)
    blocks.push(createHash(hash).update(seed).update(counter).digest())
  }
  return Buffer.concat(blocks).subarray(0, length)
}

/** SEC 2 §2.4.2 and §2.5.1: the orders of the curves. */
const orders = {
  prime256v1: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  secp384r1: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
} as const

/** ECDSA (FIPS 186-5 §6.4.1), as DER. */
export const signEcdsa = (key: KeyObject, digest: Buffer): Buffer => {
  const curve = key.asymmetricKeyDetails?.namedCurve === 'secp384r1' ? 'secp384r1' : 'prime256v1'
  const n = orders[curve]
  const d = number(Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url'))
  for (;;) {
    const ephemeral = createECDH(curve)
    const point = ephemeral.generateKeys()
    const r = number(point.subarray(1, 1 + (point.length - 1) / 2)) % n
    const s = (inverse(number(ephemeral.getPrivateKey()), n) * (number(digest) + r * d)) % n
    if (r !== 0n && s !== 0n) return sequence(integer(r), integer(s))
  }
}

const number = (bytes: Buffer): bigint => BigInt(`0x${bytes.toString('hex')}`)

const inverse = (value: bigint, modulus: bigint): bigint => {
  let [a, b, x, y] = [value, modulus, 1n, 0n]
  while (b !== 0n) {
    const quotient = a / b
    ;[a, b, x, y] = [b, a - quotient * b, y, x - quotient * y]
  }
  return ((x % modulus) + modulus) % modulus
}

const integer = (value: bigint): Buffer => {
  const hex = value.toString(16)
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  const signed = (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes
  return Buffer.concat([Buffer.from([0x02, signed.length]), signed])
}

const sequence = (...parts: Buffer[]): Buffer => {
  const content = Buffer.concat(parts)
  return Buffer.concat([Buffer.from([0x30, content.length]), content])
}
