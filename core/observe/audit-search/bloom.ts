/**
 * Bloom filters: whether a set of texts may have one, with ten bits a text and about one wrong yes in a hundred
 * (Bloom, "Space/time trade-offs in hash coding with allowable errors", 1970).
 */

const bitsPerText = 10
const probes = 7

/** Two independent 32-bit hashes of a text, as one number each (FNV-1a with a final mix, and a multiplicative one). */
export const hashText = (text: string): readonly [number, number] => {
  let one = 0x811c9dc5
  let other = 0x9e3779b9
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    one = Math.imul(one ^ code, 0x01000193)
    other = Math.imul(other ^ code, 0x85ebca6b)
    other ^= other >>> 13
  }
  one ^= one >>> 16
  one = Math.imul(one, 0xc2b2ae35)
  return [(one ^ (one >>> 13)) >>> 0, (Math.imul(other, 0x27d4eb2f) | 1) >>> 0]
}

/** The bits of a text in a filter of `size` bits (Kirsch and Mitzenmacher, "Less hashing, same performance", 2006). */
const eachBit = ([one, other]: readonly [number, number], size: number, visit: (bit: number) => boolean): boolean => {
  for (let probe = 0; probe < probes; probe++) if (!visit((one + probe * other) % size)) return false
  return true
}

/** Makes the filter of these texts, at least one. */
export const createBloom = (texts: ReadonlySet<string>): Buffer => {
  const bytes = Buffer.alloc(Math.max(8, Math.ceil((texts.size * bitsPerText) / 8)))
  for (const text of texts)
    eachBit(hashText(text), bytes.length * 8, (bit) => {
      bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) | (1 << (bit & 7))
      return true
    })
  return bytes
}

/** False: the set does not have the text with these hashes. */
export const mayHave = (bloom: Buffer, hashes: readonly [number, number]): boolean =>
  eachBit(hashes, bloom.length * 8, (bit) => ((bloom[bit >> 3] ?? 0) & (1 << (bit & 7))) !== 0)
