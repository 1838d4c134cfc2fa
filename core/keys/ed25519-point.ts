const p = (1n << 255n) - 19n
const signBit = 1n << 255n

const modulo = (value: bigint): bigint => ((value % p) + p) % p

const power = (base: bigint, exponent: bigint): bigint => {
  let result = 1n
  let square = modulo(base)
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if ((rest & 1n) === 1n) result = (result * square) % p
    square = (square * square) % p
  }
  return result
}

/** The curve's constant, −121665/121666 (RFC 8032 §5.1). */
const d = modulo(-121665n * power(121666n, p - 2n))

/**
 * The y of the eight points of small order: 1 (the neutral one), −1 (order 2), 0 (order 4), and the two of order 8,
 * where dy⁴ + 2y² = 1. For such a key there are signatures that fit many messages.
 */
const lowOrderY: ReadonlySet<bigint> = new Set([
  0n,
  1n,
  p - 1n,
  0x7a03ac9277fdc74ec6cc392cfa53202a0f67100d760b3cba4fd83d3d706a17c7n,
  0x05fc536d880238b13933c6d305acdfd5f098eff289f4c345b027b2c28f95e826n,
])

/**
 * Is this the canonical encoding (RFC 8032 §5.1.3) of a point on the curve whose order is not small? OpenSSL asks none
 * of this when it imports a key, and Node 20 and 22 verify signatures under points of small order.
 */
export const isEd25519Point = (encoding: Uint8Array): boolean => {
  if (encoding.length !== 32) return false
  const y = BigInt(`0x${Buffer.from(encoding).reverse().toString('hex')}`) & ~signBit
  if (y >= p || lowOrderY.has(y)) return false
  const y2 = (y * y) % p
  // x² = (y²−1)/(dy²+1) has a root exactly if the product of the two is a square (Euler's criterion).
  return power((y2 - 1n) * (d * y2 + 1n), (p - 1n) / 2n) === 1n
}
