import { isObject, type JsonObject, type JsonValue } from '../json.js'
import { withDeadline } from '../deadline.js'
import { Unavailable } from '../unavailable.js'
import { findAttributesFault, withoutStatus } from './attributes.js'

/** Milliseconds that a plugin may take. Less than the request's own deadline, so that there is time to answer. */
const hookBudgetMs = 2000

/**
 * Calls a plugin. Whatever the plugin throws and however long it takes, the error is `Unavailable`: its own, or one
 * that names `component`. A fault is never a refusal (docs/design/decisions.md#8-attestation).
 */
export const askHook = async <T>(
  component: string,
  outer: AbortSignal,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  const late = (): Error => new Unavailable(component, 'unknown', 'the plugin did not answer in time')
  try {
    // Wrapped in a promise, so that a plugin that throws synchronously rejects too.
    return await withDeadline(hookBudgetMs, async (signal) => ask(signal), late, outer)
  } catch (error) {
    if (error instanceof Unavailable) throw error
    throw hookFault(component, 'the plugin failed', error)
  }
}

/** The cause without its message, because plugins put their input into messages. */
export const hookFault = (component: string, message: string, error?: unknown): Unavailable => {
  const frames = error instanceof Error ? /(?:\n {4}at .*)+/.exec(error.stack ?? '')?.[0] : undefined
  const cause = new Error('thrown by a plugin')
  cause.stack = `${cause.message}${frames ?? ''}`
  return new Unavailable(component, 'unknown', message, { cause })
}

/**
 * Attributes from a plugin, as JSON values and without `status`, which is reserved for the core. Throws `Unavailable`
 * when they are not valid attributes.
 */
export const checkGivenAttributes = (component: string, given: unknown): JsonObject => {
  let copy: JsonValue
  try {
    copy = JSON.parse(JSON.stringify(given)) as JsonValue
  } catch (error) {
    throw hookFault(component, 'the plugin returned attributes that are not JSON', error)
  }
  if (!isObject(copy)) throw hookFault(component, 'the plugin returned attributes that are not an object')
  const attributes = withoutStatus(copy)
  const fault = findAttributesFault(attributes)
  if (fault !== undefined)
    throw hookFault(component, `the plugin returned attributes that an attestation cannot contain: ${fault}`)
  return attributes
}
