import type { Words } from '../languages/words.js'

/** What a page says to somebody who has guessed too often. */
export const tooManyText = (words: Words, retryAfterSeconds: number): string => {
  if (retryAfterSeconds > 90) return words.count('attempts.minutes', Math.ceil(retryAfterSeconds / 60))
  if (retryAfterSeconds > 1) return words.count('attempts.seconds', Math.ceil(retryAfterSeconds))
  return words.text('attempts.moment')
}
