import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Salvaged } from '../../config/explain.js'
import { findNearMiss } from '../near-miss.js'
import { describeReadFault } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import { builtIn, english, type Messages, type Texts } from '../interaction/languages/built-in.js'

export interface MessagesReading {
  readonly messages: Messages
  /** What is wrong with the options or the files. */
  readonly problems: readonly MessagesFault[]
  /** Texts that are missing and are shown in another language. */
  readonly warnings: readonly MessagesFault[]
}

export interface MessagesFault {
  readonly path: 'ui.messages' | 'ui.locales'
  readonly message: string
}

/** Names the first few, and says how many more there are. */
const listSome = (keys: readonly string[]): string => {
  const shown = keys.slice(0, 10).join(', ')
  return keys.length > 10 ? `${shown} and ${keys.length - 10} more` : shown
}

/** `attempts.minutes#few` is a form of `attempts.minutes`. */
export const splitForm = (key: string): readonly [base: string, form: string | undefined] => {
  const [base = '', form] = key.split('#')
  return [base, form]
}

const forms = new Set(['zero', 'one', 'two', 'few', 'many', 'other'])

const placeholdersOf = (text: string): readonly string[] =>
  [...new Set([...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name))].sort()

const knownBases = new Map(
  [...english].map(([key, text]) => [splitForm(key)[0], { text, isCounted: key.includes('#') }]),
)

/** What is wrong with one text of a file, or undefined. */
export const findTextFault = (key: string, text: unknown): string | undefined => {
  const [base, form] = splitForm(key)
  const known = knownBases.get(base)
  if (known === undefined) {
    const meant = findNearMiss(base, [...knownBases.keys()])
    return `is no text of the pages${meant === undefined ? '' : `; did you mean ${meant}?`}`
  }
  if (known.isCounted !== (form !== undefined && forms.has(form)))
    return known.isCounted ? 'goes with a number: write #one, #other …' : 'goes with no number'
  if (typeof text !== 'string' || text === '') return 'must be a text'
  const [given, wanted] = [placeholdersOf(text), placeholdersOf(known.text)]
  const unknown = given.find((name) => !wanted.includes(name))
  if (unknown !== undefined) return `has {${unknown}}, which nothing fills in`
  // “one minute” states the number in words.
  const missing = form === undefined || form === 'other' ? wanted.find((name) => !given.includes(name)) : undefined
  return missing === undefined ? undefined : `lacks {${missing}}`
}

interface FileReading {
  readonly texts: Texts
  readonly faults: readonly string[]
}

const readFile = (file: string): FileReading => {
  let content: unknown
  try {
    content = JSON.parse(readFileSync(file, 'utf8'))
  } catch (error) {
    return { texts: new Map(), faults: [error instanceof SyntaxError ? 'is not JSON' : describeReadFault(error)] }
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    return { texts: new Map(), faults: ['must be an object of texts by key'] }
  const entries = Object.entries(content)
  const faults = entries.flatMap(([key, text]) => {
    const fault = findTextFault(key, text)
    return fault === undefined ? [] : [`${key} ${fault}`]
  })
  return { texts: new Map(entries.filter(([key, text]) => findTextFault(key, text) === undefined)), faults }
}

/** `de-CH` falls back to `de`, and every language to English. */
const baseOf = (language: string): Texts =>
  builtIn.texts.get(language) ?? builtIn.texts.get(language.split('-')[0] ?? '') ?? english

const languageFile = /^([A-Za-z]{2,8}(?:-[A-Za-z\d]{1,8}){0,4})\.json$/

const missingIn = (texts: Texts): readonly string[] => {
  const there = new Set([...texts.keys()].map((key) => splitForm(key)[0]))
  return [...knownBases.keys()].filter((base) => !there.has(base))
}

/**
 * Reads the texts of every language, then those of the deployer on top; `directory` is that of the configuration.
 * Never throws.
 */
export const readMessages = (ui: Salvaged<Config>['ui'], directory: string): MessagesReading => {
  const locales = ui?.locales?.filter((language) => language !== undefined)
  const folder = ui?.messages === undefined ? undefined : resolve(directory, ui.messages)
  const texts = new Map<string, Texts>(builtIn.texts)
  const problems: MessagesFault[] = []
  const warnings: MessagesFault[] = []
  const report = (message: string) => problems.push({ path: 'ui.messages', message })
  for (const name of folder === undefined ? [] : listFolder(folder, report)) {
    const language = languageFile.exec(name)?.[1]
    if (language === undefined) {
      report(`${name} is named after no language: write de.json or pt-BR.json`)
      continue
    }
    const own = readFile(join(folder ?? '', name))
    for (const fault of own.faults) report(`${name}: ${fault}`)
    const base = baseOf(language)
    const missing = base === english && language !== 'en' ? missingIn(own.texts) : []
    if (missing.length > 0)
      warnings.push({
        path: 'ui.messages',
        message: `${name} lacks texts, which are shown in English: ${listSome(missing)}`,
      })
    texts.set(language, new Map([...base, ...own.texts]))
  }
  const wanted = locales ?? [...texts.keys()]
  for (const language of wanted)
    if (!texts.has(language))
      problems.push({
        path: 'ui.locales',
        message: `there are no texts in ${language}: write ${language}.json in the folder ui.messages, or one of ${[...texts.keys()].join(', ')}`,
      })
  const [first = 'en', ...others] = wanted.filter((language) => texts.has(language))
  return { messages: { languages: [first, ...others], texts }, problems, warnings }
}

const listFolder = (folder: string, report: (message: string) => void): readonly string[] => {
  try {
    return readdirSync(folder).filter((name) => !name.startsWith('.'))
  } catch (error) {
    report(describeReadFault(error))
    return []
  }
}
