import { closest, distance } from 'fastest-levenshtein'

/** The one of `words` that was probably meant, or undefined when none is near. */
export const findNearMiss = (typed: string, words: readonly string[]): string | undefined => {
  if (words.length === 0 || typed === '') return undefined
  const fold = (word: string) => word.toLowerCase().replaceAll(/[-_]/g, '')
  const exact = words.find((word) => fold(word) === fold(typed))
  if (exact !== undefined) return exact
  const nearest = closest(typed, words)
  const away = distance(typed, nearest)
  const swapped = away === 2 && [...typed].sort().join('') === [...nearest].sort().join('')
  return swapped || away <= Math.max(1, Math.floor(Math.min(typed.length, nearest.length) / 3)) ? nearest : undefined
}
