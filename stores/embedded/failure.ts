import { Unavailable } from '../../core/api/storage.js'

/** Why a commit failed: lmdb keeps that in another promise, whose rejection must be handled. */
export const commitFailure = async (error: unknown): Promise<unknown> => {
  const { commitError } = error as { readonly commitError?: Promise<unknown> }
  return commitError === undefined ? error : commitError.catch((cause: unknown) => cause)
}

export const unavailable = (component: string, applied: 'no' | 'unknown', cause: unknown): Unavailable =>
  new Unavailable(component, applied, cause instanceof Error ? cause.message : String(cause), { cause })

/** For failures before anything is written. */
export const orUnavailable = <R>(component: string, act: () => R): R => {
  try {
    return act()
  } catch (error) {
    throw unavailable(component, 'no', error)
  }
}
