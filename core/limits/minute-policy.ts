import type { AttemptPolicy } from '../storage/ports.js'

/** So many in a minute, then none until the next. For ids that name the minute: nothing is left of one in the next. */
export const minutePolicy = (most: number): AttemptPolicy => ({
  // The one after those that are free is the first that makes the next one wait.
  free: most - 1,
  baseDelaySeconds: 60,
  maxDelaySeconds: 60,
  forgetAfterSeconds: 60,
})
