/**
 * Converts an ECDSA signature from DER (RFC 3279 §2.2.3) to r||s (RFC 7518 §3.4), each `size` bytes long. Undefined
 * for anything but the exact DER of two positive integers that fit.
 */
export const joseFromDer = (der: Uint8Array, size: number): Uint8Array | undefined => {
  // For curves up to P-384 every length is below 128, and thus one byte.
  if (der[0] !== 0x30 || der[1] !== der.length - 2 || der.length > 127) return undefined
  const r = readInteger(der, 2)
  if (r === undefined) return undefined
  const s = readInteger(der, r.end)
  if (s?.end !== der.length || r.value.length > size || s.value.length > size) return undefined
  const signature = new Uint8Array(2 * size)
  signature.set(r.value, size - r.value.length)
  signature.set(s.value, 2 * size - s.value.length)
  return signature
}

const readInteger = (der: Uint8Array, start: number): { value: Uint8Array; end: number } | undefined => {
  const length = der[start + 1]
  if (der[start] !== 0x02 || length === undefined || length === 0) return undefined
  const end = start + 2 + length
  if (end > der.length) return undefined
  const content = der.subarray(start + 2, end)
  const [first = 0, second = 0] = content
  if (first >= 0x80) return undefined
  if (first !== 0) return { value: content, end }
  // A zero byte may only precede a bit that would be read as the sign, and no part of a signature is zero.
  return length > 1 && second >= 0x80 ? { value: content.subarray(1), end } : undefined
}
