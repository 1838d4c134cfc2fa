/**
 * Where clients reach a verifier: what its options say, or the origin of its audience if that is a URL; undefined if neither
 * says it. Throws a `TypeError` for an option that is no origin.
 */
export const originOf = (audience: string, given: string | undefined): string | undefined => {
  if (given !== undefined && !(URL.canParse(given) && new URL(given).origin === given))
    throw new TypeError('origin is not an origin')
  const origin = given ?? (URL.canParse(audience) ? new URL(audience).origin : 'null')
  // Such as of a URN.
  return origin === 'null' ? undefined : origin
}
