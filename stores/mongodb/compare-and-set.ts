import { Unavailable } from '../../core/api/storage.js'

/** Each try that fails is a change of another that was made. */
const maxTries = 100

/** Tries again while another one was faster: `attempt` says so with undefined. Of those who try at once one always succeeds. */
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
