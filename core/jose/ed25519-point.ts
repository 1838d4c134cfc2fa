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
 * The eight points of small order have y = 0 (order 4), y² = 1 (orders 1 and 2), or dy⁴ + 2y² = 1 (order 8, from
 * doubling to y = 0). With such a key, one signature can fit many messages.
 */
const hasSmallOrder = (y2: bigint): boolean => y2 === 0n || y2 === 1n || modulo(d * y2 * y2 + 2n * y2) === 1n

/**
 * Whether this is the canonical encoding (RFC 8032 §5.1.3) of a curve point whose order is not small. OpenSSL checks
 * none of this on import, and Node 20 and 22 verify signatures under points of small order.
 */
export const isEd25519Point = (encoding: Uint8Array): boolean => {
  if (encoding.length !== 32) return false
  const y = BigInt(`0x${Buffer.from(encoding).reverse().toString('hex')}`) & ~signBit
  const y2 = (y * y) % p
  if (y >= p || hasSmallOrder(y2)) return false
  // x² = (y²−1)/(dy²+1) has a root exactly when the product of the two is a square (Euler's criterion).
  return power((y2 - 1n) * (d * y2 + 1n), (p - 1n) / 2n) === 1n
}
