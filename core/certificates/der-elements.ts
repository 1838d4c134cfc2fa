/**
 * Reading one takes 15 µs. A certificate with long names and all common extensions has 150; one for 100 names has 101
 * of those.
 */
const maxElements = 256

/** Sizes in bytes of the header and content of the element at `offset`. The reader refuses a `length` past the end. */
export const headerAt = (der: Uint8Array, offset: number): { readonly header: number; readonly length: number } => {
  const first = der[offset + 1] ?? 0
  if (first < 0x80) return { header: 2, length: first }
  const digits = first & 0x7f
  let length = 0
  for (let index = 0; index < digits; index++) length = length * 256 + (der[offset + 2 + index] ?? 0)
  return { header: 2 + digits, length }
}

/**
 * Throws `Error` when there are more elements (X.690 §8.1) than a certificate or one of its extensions needs. 16 KiB
 * have space for thousands, and the sender is not authenticated yet.
 */
export const checkElements = (der: Uint8Array): void => {
  let offset = 0
  for (let count = 0; offset < der.length; count++) {
    if (count === maxElements) throw new Error('there are too many elements')
    const { header, length } = headerAt(der, offset)
    const isConstructed = ((der[offset] as number) & 0x20) !== 0
    // The content of a constructed element is counted next.
    offset += isConstructed ? header : header + length
  }
}
