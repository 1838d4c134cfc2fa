import { styleText } from 'node:util'
import { stringify } from 'yaml'
import { escapeUnseen } from '../plain-text.js'

/**
 * Names come from clients and people. A terminal must not interpret them, and two different names must look
 * different.
 */
export const show = escapeUnseen

const showLines = (text: string): string => text.split('\n').map(show).join('\n')

/** Prints a result to standard output. */
export const print = (text: string): void => {
  process.stdout.write(`${text}\n`)
}

/** Prints errors and progress to standard error. */
export const printError = (text: string): void => {
  process.stderr.write(`${showLines(text)}\n`)
}

export const printJson = (value: unknown): void => print(showLines(JSON.stringify(value, null, 2)))

/** Prints one line of JSON Lines. */
export const printJsonLine = (value: unknown): void => print(show(JSON.stringify(value)))

export const printYaml = (value: unknown): void => print(showLines(stringify(value, { lineWidth: 0 }).trimEnd()))

export type Tone = 'bold' | 'green' | 'red'

/** Colours a text only if standard output is a terminal with colours and `NO_COLOR` is not set. */
export const colored = (tone: Tone, text: string): string =>
  process.stdout.isTTY && process.stdout.hasColors() ? styleText(tone, text) : text

export const heading = (text: string): string => colored('bold', text)

export const good = (text: string): string => colored('green', text)

export const bad = (text: string): string => colored('red', text)

/** Prints a line for each name and value, with the values aligned. */
export const printFields = (fields: Readonly<Record<string, string>>): void => {
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  for (const [name, value] of Object.entries(fields)) print(`${show(name).padEnd(width)}  ${show(value)}`)
}
