import { styleText } from 'node:util'
import { stringify } from 'yaml'

/** What a terminal would obey instead of showing: names come from clients and people. Written as JSON escapes it. */
const obeyed = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

export const show = (text: string): string => text.replaceAll(obeyed, escape)

const showLines = (text: string): string => text.split('\n').map(show).join('\n')

/** A result: standard output. */
export const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

/** Errors and progress: standard error. */
export const printError = (text: string): void => {
  process.stderr.write(`${showLines(text)}\n`)
}

export const printJson = (value: unknown): void => print(showLines(JSON.stringify(value, null, 2)))

/** One of JSON Lines. */
export const printJsonLine = (value: unknown): void => print(show(JSON.stringify(value)))

export const printYaml = (value: unknown): void => print(showLines(stringify(value, { lineWidth: 0 }).trimEnd()))

export type Tone = 'bold' | 'green' | 'red'

/** Only where standard output is a terminal that has colours, and `NO_COLOR` is not set. */
export const colored = (tone: Tone, text: string): string =>
  process.stdout.isTTY && process.stdout.hasColors() ? styleText(tone, text) : text

export const heading = (text: string): string => colored('bold', text)

export const good = (text: string): string => colored('green', text)

export const bad = (text: string): string => colored('red', text)

/** A line for each name and value, the values below each other. */
export const printFields = (fields: Readonly<Record<string, string>>): void => {
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  for (const [name, value] of Object.entries(fields)) print(`${show(name).padEnd(width)}  ${show(value)}`)
}
