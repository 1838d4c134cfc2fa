import { Unavailable } from '../../core/api/storage.js'

/** Each failed attempt means that another caller's change was made. */
const maxTries = 100

/**
 * Repeats `attempt` while it returns undefined because another caller was faster. Of concurrent callers one always
 * succeeds.
 */
export const compareAndSet = async <R>(
  component: string,
  attempt: () => Promise<{ readonly result: R } | undefined>,
): Promise<R> => {
  for (let tries = 0; tries < maxTries; tries++) {
    const settled = await attempt()
    if (settled !== undefined) return settled.result
  }
  throw new Unavailable(component, 'no', 'too many change one record at once')
}
