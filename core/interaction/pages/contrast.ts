/** A colour such as `#0b5d3b` or `#fff`. */
export type Colour = string

/** The minimum contrast for text of any size (WCAG 2.2 §1.4.3, level AA). */
export const textContrast = 4.5

const channels = (colour: Colour): readonly number[] => {
  const digits = colour.length === 4 ? colour.replaceAll(/[\da-f]/gi, '$&$&') : colour
  return [1, 3, 5].map((at) => Number.parseInt(digits.slice(at, at + 2), 16))
}

/** Returns the "relative luminance" of WCAG 2.2. */
const luminance = (colour: Colour): number => {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((channel) => {
    const part = channel / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

/** Returns the "contrast ratio" of WCAG 2.2, from 1 to 21. */
export const contrast = (left: Colour, right: Colour): number => {
  const [lighter = 0, darker = 0] = [luminance(left), luminance(right)].sort((one, other) => other - one)
  return (lighter + 0.05) / (darker + 0.05)
}

/** Mixes `share` of `other` with the rest of `colour`. */
export const mix = (colour: Colour, other: Colour, share: number): Colour => {
  const added = channels(other)
  const mixed = channels(colour).map((channel, index) => Math.round(channel + ((added[index] ?? 0) - channel) * share))
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`
}

/** Returns the background on which the colour is hardest to read. */
export const hardest = (colour: Colour, backgrounds: readonly Colour[]) =>
  backgrounds
    .map((background) => ({ background, ratio: contrast(colour, background) }))
    .reduce((left, right) => (right.ratio < left.ratio ? right : left))

/** Moves the colour towards `end`, only as far as its text needs to be readable on all of these backgrounds. */
export const readableOn = (colour: Colour, backgrounds: readonly Colour[], end: Colour): Colour => {
  for (let percent = 0; percent < 100; percent += 1) {
    const nearer = mix(colour, end, percent / 100)
    if (hardest(nearer, backgrounds).ratio >= textContrast) return nearer
  }
  return end
}

/** Formats 4.4999 as `4.49`, so that a ratio that fails does not look as if it passed. */
export const formatRatio = (ratio: number): string => `${(Math.floor(ratio * 100) / 100).toFixed(2)}:1`
