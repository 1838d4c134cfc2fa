/**
 * The address at which clients reach a verifier: the option, or else the origin of its audience if that is a URL.
 * Undefined if neither is given. Throws a `TypeError` for an option that is not an origin.
 */
export const originOf = (audience: string, given: string | undefined): string | undefined => {
  if (given !== undefined && !(URL.canParse(given) && new URL(given).origin === given))
    throw new TypeError('origin is not an origin')
  const origin = given ?? (URL.canParse(audience) ? new URL(audience).origin : 'null')
  // For example the origin of a URN.
  return origin === 'null' ? undefined : origin
}
