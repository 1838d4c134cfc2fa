const printable = /^[\x21-\x7e]+$/

/** In lower case, without `application/`. No letter outside ASCII may turn into an ASCII one. */
const nameOf = (type: unknown): unknown =>
  typeof type === 'string' && printable.test(type) ? type.toLowerCase().replace(/^application\//, '') : type

/**
 * Whether the `typ` of a JOSE header is one of these media types; `undefined` among them allows its absence. Case is
 * ignored (RFC 2045 §5.1), and `application/` is optional (RFC 7515 §4.1.9).
 */
export const isOfType = (typ: unknown, ...expected: readonly unknown[]): boolean =>
  expected.includes(typ) || expected.some((type) => nameOf(type) === nameOf(typ))
