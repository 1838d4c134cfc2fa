import { styleText } from 'node:util'
import { stringify } from 'yaml'
import { escapeUnseen } from '../plain-text.js'

/** Names come from clients and people: a terminal must obey none of it, and show that two of them differ. */
export const show = escapeUnseen

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
