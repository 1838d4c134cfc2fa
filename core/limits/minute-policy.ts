import type { AttemptPolicy } from '../storage/ports.js'

/** Allows `most` in a minute, then none until the next. For ids that name the minute, so nothing carries over. */
export const minutePolicy = (most: number): AttemptPolicy => ({
  // The attempt after the free ones is the first that delays the next.
  free: most - 1,
  baseDelaySeconds: 60,
  maxDelaySeconds: 60,
  forgetAfterSeconds: 60,
})
