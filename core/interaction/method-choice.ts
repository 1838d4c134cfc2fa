import { isAcrMet, type AuthenticationContexts, type WantedAcr } from '../oauth/requests/authentication-context.js'
import type { PassedSoFar } from './sign-in-attempts.js'
import type { SignInMethod } from './sign-in-method.js'

type Methods = ReadonlyMap<string, SignInMethod>

const isFirst = ({ after = [] }: SignInMethod): boolean => after.length === 0

/** Returns the methods that a sign-in can begin with. The first of `preferred` that is among them comes first. */
export const firstMethods = (
  methods: Methods,
  preferred: readonly (string | undefined)[] = [],
): readonly SignInMethod[] => {
  const first = [...methods.values()].filter(isFirst)
  const front = preferred.map((id) => first.find((method) => method.id === id)).find((method) => method !== undefined)
  return front === undefined ? first : [front, ...first.filter((method) => method !== front)]
}

/**
 * Tells whether it may be asked instead of the method that follows these. That holds for a method that also follows
 * one of them, and for an authenticator that could have been used first.
 */
export const isInstead = (method: SignInMethod, { methods }: Pick<PassedSoFar, 'methods'>): boolean =>
  !methods.includes(method.id) &&
  (method.after?.some((id) => methods.includes(id)) === true || (isFirst(method) && method.kind === 'ceremony'))

export interface Choice {
  readonly methods: Methods
  readonly acrs: AuthenticationContexts
  readonly wanted: WantedAcr | undefined
  readonly passed: PassedSoFar
  /** Methods that this person has not set up. */
  readonly skipped: ReadonlySet<string>
}

/**
 * Returns the method to ask next: one that is configured to follow the last, or one with which the sign-in reaches
 * the requested `acr`. Undefined means that the sign-in is complete.
 */
export const nextMethod = ({ methods, acrs, wanted, passed, skipped }: Choice): SignInMethod | undefined => {
  const last = passed.methods.at(-1) ?? ''
  const isNew = ({ id }: SignInMethod): boolean => !passed.methods.includes(id) && !skipped.has(id)
  const unused = [...methods.values()].filter(isNew)
  const configured = unused.find(({ after = [] }) => after.includes(last))
  if (configured !== undefined || isAcrMet(acrs, passed.result, wanted)) return configured
  const possible = unused.filter(
    (method) => isFirst(method) || method.after?.some((id) => passed.methods.includes(id)) === true,
  )
  for (const value of wanted?.values ?? []) {
    const needed = acrs.find(({ acr }) => acr === value)?.methods.filter((amr) => !passed.result.amr.includes(amr))
    if (needed?.every((amr) => possible.some((method) => method.amr.includes(amr))) !== true) continue
    const next = possible.find((method) => method.amr.some((amr) => needed.includes(amr)))
    if (next !== undefined) return next
  }
  return undefined
}
