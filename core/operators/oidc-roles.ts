import { hash } from 'node:crypto'

/**
 * The name of a person whom only the issuer of `operators.oidc` knows. The colon keeps it apart from all other names
 * of operators.
 */
export const oidcName = (sub: string): string =>
  /^[\w.@-]{1,64}$/.test(sub) ? `oidc:${sub}` : `oidc:sha256:${hash('sha256', sub, 'base64url')}`

/** The roles for the values of a claim. */
export const rolesOfClaim = (map: Readonly<Record<string, string>>, values: readonly string[]): readonly string[] => [
  ...new Set(values.flatMap((value) => (Object.hasOwn(map, value) ? [map[value] as string] : []))),
]
