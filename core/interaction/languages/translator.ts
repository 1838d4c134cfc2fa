import type { Said } from '../../oauth/said.js'
import type { Texts } from './built-in.js'
import { textIn } from './choose-language.js'

type Values = Readonly<Record<string, string>>

/** What pages are written with, in one language. */
export interface Translator {
  /** A language tag (RFC 5646). */
  readonly language: string
  readonly dir: 'ltr' | 'rtl'
  /** The text of a key, with the values in the place of `{name}`. Throws for a key that there is not. */
  text(key: string, values?: Values): string
  /** The form of a text that goes with a number (`key#one`, `key#few` …), with the number in the place of `{count}`. */
  count(key: string, count: number): string
  /** What stands before and after the one `{name}` of a text, which the view sets in markup of its own. */
  around(key: string): readonly [before: string, after: string]
  /** What an error says. */
  said(messages: Said): string
  /** Of no place in particular: nobody has told where the person is. In seconds since the epoch. */
  time(seconds: number): string
  /** How long ago something was, in whole minutes, hours or days. In seconds. */
  ago(seconds: number): string
  /** What the operator has written. */
  own(texts: Values | undefined): string | undefined
}

/** Scripts of Unicode that are written from right to left and have languages that people choose. */
const rightToLeft = new Set(['Adlm', 'Arab', 'Hebr', 'Mand', 'Nkoo', 'Rohg', 'Samr', 'Syrc', 'Thaa'])

const directionOf = (language: string): Translator['dir'] =>
  rightToLeft.has(new Intl.Locale(language).maximize().script ?? '') ? 'rtl' : 'ltr'

/** English without a country has the dates of most countries: the day first. */
const formatsOf = (language: string): string => (language === 'en' ? 'en-GB' : language)

/** Texts and names in turn: `Go back to {client}` has the name at index 1. */
const partsOf = (text: string): readonly string[] => text.split(/\{(\w+)\}/)

const fill = (parts: readonly string[], values: Values): string =>
  parts.map((part, index) => (index % 2 === 0 ? part : (values[part] ?? ''))).join('')

/** Each with its length in seconds. */
const ageUnits = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const

/** Prepares everything that does not depend on a request. */
export const createTranslator = (language: string, texts: Texts): Translator => {
  const prepared = new Map([...texts].map(([key, text]) => [key, partsOf(text)]))
  const times = new Intl.DateTimeFormat(formatsOf(language), {
    dateStyle: 'long',
    timeStyle: 'short',
    timeZone: 'UTC',
  })
  const numbers = new Intl.NumberFormat(formatsOf(language))
  const plurals = new Intl.PluralRules(language)
  const ages = new Intl.RelativeTimeFormat(formatsOf(language))

  const find = (key: string): readonly string[] => {
    const parts = prepared.get(key)
    if (parts === undefined) throw new Error(`There is no text ${key}.`)
    return parts
  }
  const text: Translator['text'] = (key, values) => {
    const parts = find(key)
    return parts.length === 1 ? (parts[0] ?? '') : fill(parts, values ?? {})
  }

  /** By the object that the configuration has them in: pages ask for the same ones again and again. */
  const ownTexts = new WeakMap<object, string>()
  const own: Translator['own'] = (written) => {
    if (written === undefined) return undefined
    const known = ownTexts.get(written)
    if (known !== undefined) return known
    const found = textIn(language, written)
    if (found !== undefined) ownTexts.set(written, found)
    return found
  }

  return {
    language,
    dir: directionOf(language),
    text,
    count(key, count) {
      const form = `${key}#${plurals.select(count)}`
      return fill(prepared.get(form) ?? find(`${key}#other`), { count: numbers.format(count) })
    },
    around(key) {
      const [before = '', , after = ''] = find(key)
      return [before, after]
    },
    said: ({ key }) => text(`said.${key}`),
    ago(seconds) {
      const [unit, length] = ageUnits.find(([, least]) => seconds >= least) ?? ageUnits[2]
      return ages.format(-Math.floor(Math.max(seconds, 0) / length), unit)
    },
    time: (seconds) => text('common.utc', { time: times.format(seconds * 1000) }),
    own,
  }
}
