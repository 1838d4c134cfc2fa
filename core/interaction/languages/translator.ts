import type { Said } from '../../oauth/said.js'
import type { Texts } from './built-in.js'
import { textIn } from './choose-language.js'

type Values = Readonly<Record<string, string>>

/** Gives pages their texts, in one language. */
export interface Translator {
  /** A language tag (RFC 5646). */
  readonly language: string
  readonly dir: 'ltr' | 'rtl'
  /** Returns the text of a key, with values inserted for `{name}`. Throws for an unknown key. */
  text(key: string, values?: Values): string
  /**
   * Returns the plural form of a text for a number (`key#one`, `key#few` …), with the number inserted for `{count}`.
   */
  count(key: string, count: number): string
  /** Returns what comes before and after the single `{name}` of a text, which the view puts into markup of its own. */
  around(key: string): readonly [before: string, after: string]
  /** Returns the text of an error. */
  said(sentence: Said): string
  /** Formats a time, given in seconds since the epoch, without a local time zone, because the person's is unknown. */
  time(seconds: number): string
  /** Formats an age, given in seconds, in whole minutes, hours or days. */
  ago(seconds: number): string
  /** Returns a text that the operator has written. */
  own(texts: Values | undefined): string | undefined
}

/** Unicode scripts that are written from right to left and that people can choose a language of. */
const rightToLeft = new Set(['Adlm', 'Arab', 'Hebr', 'Mand', 'Nkoo', 'Rohg', 'Samr', 'Syrc', 'Thaa'])

const directionOf = (language: string): Translator['dir'] =>
  rightToLeft.has(new Intl.Locale(language).maximize().script ?? '') ? 'rtl' : 'ltr'

/** English without a country uses the date format of most countries, with the day first. */
const formatsOf = (language: string): string => (language === 'en' ? 'en-GB' : language)

/** Splits a text into literal parts and names in turn: `Go back to {client}` has the name at index 1. */
const partsOf = (text: string): readonly string[] => text.split(/\{(\w+)\}/)

const fill = (parts: readonly string[], values: Values): string =>
  parts.map((part, index) => (index % 2 === 0 ? part : (values[part] ?? ''))).join('')

/** Each unit has its length in seconds. */
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

  /** Results are cached by the object of the configuration, because pages ask for the same texts repeatedly. */
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
