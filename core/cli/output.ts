import { styleText } from 'node:util'
import Table from 'cli-table3'
import { stringify } from 'yaml'

/** What a terminal would obey instead of showing: names come from clients and people. Written as JSON escapes it. */
const obeyed = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

const escape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

const show = (text: string): string => text.replaceAll(obeyed, escape)

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

export const printYaml = (value: unknown): void => print(showLines(stringify(value, { lineWidth: 0 }).trimEnd()))

/** Bold where standard output is a terminal that has it and `NO_COLOR` is not set. */
export const heading = (text: string): string =>
  process.stdout.isTTY && process.stdout.hasColors() ? styleText('bold', text) : text

const sides = ['top', 'bottom', 'left', 'right', 'mid', 'top-mid', 'top-left', 'top-right', 'bottom-mid', 'bottom-left']
const corners = ['bottom-right', 'left-mid', 'mid-mid', 'right-mid']
const noBorders = Object.fromEntries<string>([...sides, ...corners].map((name) => [name, '']))

/** Columns without borders, so that `awk` and people read the same lines. An empty cell shows as `-`. */
export const printTable = (head: readonly string[], rows: readonly (readonly string[])[]): void => {
  const table = new Table({
    head: head.map(heading),
    chars: { ...noBorders, middle: '  ' },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  for (const row of rows) table.push(row.map((cell) => (cell === '' ? '-' : show(cell))))
  print(table.toString().replaceAll(/ +$/gm, ''))
}

/** A line for each name and value, the values below each other. */
export const printFields = (fields: Readonly<Record<string, string>>): void => {
  const width = Math.max(...Object.keys(fields).map((name) => name.length))
  for (const [name, value] of Object.entries(fields)) print(`${show(name).padEnd(width)}  ${show(value)}`)
}
