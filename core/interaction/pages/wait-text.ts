const waitText = (seconds: number): string => {
  if (seconds > 90) return `${Math.ceil(seconds / 60)} minutes`
  return seconds > 1 ? `${Math.ceil(seconds)} seconds` : 'a moment'
}

/** What a page says to somebody who has guessed too often. */
export const tooManyText = (retryAfterSeconds: number): string =>
  `Too many attempts. Try again in ${waitText(retryAfterSeconds)}.`
