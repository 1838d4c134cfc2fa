import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '../../package-root.js'
import { formatRatio, hardest, mix, readableOn, textContrast, type Colour } from './contrast.js'

export interface Accent {
  readonly accent?: Colour | undefined
  /** The colour on dark pages. When absent, it is `accent`, lightened as far as needed. */
  readonly accent_dark?: Colour | undefined
}

interface Scheme {
  readonly name: 'light' | 'dark'
  /** The backgrounds of links and buttons. */
  readonly backgrounds: readonly Colour[]
  /** The colour that another colour is mixed with until it is readable here. */
  readonly end: Colour
}

/** Reads the background colours of text from `signet.css`. */
const readBackgrounds = (part: string | undefined): readonly Colour[] =>
  ['paper', 'paper-glow', 'surface', 'sunken'].map((name) => {
    const colour = new RegExp(`--${name}: (#[\\da-f]{6});`).exec(part ?? '')?.[1]
    if (colour === undefined) throw new Error(`signet.css gives --${name} no colour.`)
    return colour
  })

const readSchemes = (): { readonly light: Scheme; readonly dark: Scheme } => {
  const sheet = readFileSync(join(packageRoot, 'core/interaction/assets/signet.css'), 'utf8')
  const [light, dark] = sheet.split('@media (prefers-color-scheme: dark)')
  return {
    light: { name: 'light', backgrounds: readBackgrounds(light), end: '#000000' },
    dark: { name: 'dark', backgrounds: readBackgrounds(dark), end: '#ffffff' },
  }
}

const schemes = readSchemes()

const findFault = (colour: Colour | undefined, { name, backgrounds, end }: Scheme): string | undefined => {
  if (colour === undefined) return undefined
  const { background, ratio } = hardest(colour, backgrounds)
  if (ratio >= textContrast) return undefined
  const enough = readableOn(colour, backgrounds, end)
  return `has a contrast of ${formatRatio(ratio)} with the background ${background} of ${name} pages; links and buttons need ${String(textContrast)}:1 (WCAG 2.2 AA), which ${enough} has`
}

/** Returns why links in these colours would be unreadable, by the name of the option. */
export const findAccentFaults = ({
  accent,
  accent_dark,
}: Accent): Readonly<Record<keyof Accent, string | undefined>> => ({
  accent: findFault(accent, schemes.light),
  accent_dark: findFault(accent_dark, schemes.dark),
})

/**
 * Text on the colour itself needs no check: a colour that is readable on the lightest (darkest) background of the
 * pages is at least as good a background for white (the darkest of them).
 */
const variables = (colour: Colour, { backgrounds, end, name }: Scheme): string =>
  [
    ['accent', colour],
    ['accent-strong', mix(colour, end, 0.18)],
    ['on-accent', name === 'light' ? '#ffffff' : (backgrounds[0] ?? '#000000')],
    ...['link', 'brass', 'focus'].map((variable) => [variable, colour]),
  ]
    .map(([variable = '', value = '']) => `  --${variable}: ${value};\n`)
    .join('')

/** Returns the stylesheet that gives the pages these colours, or undefined when none are set. */
export const accentSheet = ({ accent, accent_dark }: Accent): string | undefined => {
  const { light, dark } = schemes
  const onDark = accent_dark ?? (accent && readableOn(accent, dark.backgrounds, dark.end))
  const parts = [
    ...(accent === undefined ? [] : [`:root {\n${variables(accent, light)}}\n`]),
    ...(onDark === undefined
      ? []
      : [`@media (prefers-color-scheme: dark) {\n:root {\n${variables(onDark, dark)}}\n}\n`]),
  ]
  return parts.length === 0 ? undefined : parts.join('')
}
