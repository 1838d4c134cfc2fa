const printable = /^[\x21-\x7e]+$/

/** In small letters, without `application/`. No letter outside of ASCII may turn into one of ours. */
const nameOf = (type: unknown): unknown =>
  typeof type === 'string' && printable.test(type) ? type.toLowerCase().replace(/^application\//, '') : type

/**
 * Whether the `typ` of a JOSE header is one of these media types; `undefined` among them allows its absence. The case of
 * letters does not count (RFC 2045 §5.1), and `application/` may be left out (RFC 7515 §4.1.9).
 */
export const isOfType = (typ: unknown, ...expected: readonly unknown[]): boolean =>
  expected.includes(typ) || expected.some((type) => nameOf(type) === nameOf(typ))
