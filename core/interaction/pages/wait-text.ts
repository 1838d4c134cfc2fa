import type { Translator } from '../languages/translator.js'

/** Returns the text for a person who has guessed too often. */
export const tooManyText = (translator: Translator, retryAfterSeconds: number): string => {
  if (retryAfterSeconds > 90) return translator.count('attempts.minutes', Math.ceil(retryAfterSeconds / 60))
  if (retryAfterSeconds > 1) return translator.count('attempts.seconds', Math.ceil(retryAfterSeconds))
  return translator.text('attempts.moment')
}
