import Table from 'cli-table3'
import { colored, print, show, type Tone } from './output.js'

/** Text, with or without a colour. An empty cell is shown as `-`. */
export type Cell = string | { readonly text: string; readonly tone: Tone }

let isWide = false

/** Sets whether tables are as wide as their contents. */
export const setWide = (wanted: boolean): void => {
  isWide = wanted
}

const sides = ['top', 'bottom', 'left', 'right', 'mid', 'top-mid', 'top-left', 'top-right', 'bottom-mid', 'bottom-left']
const corners = ['bottom-right', 'left-mid', 'mid-mid', 'right-mid']
const noBorders = Object.fromEntries<string>([...sides, ...corners].map((name) => [name, '']))
const gap = '  '
/** A cell with fewer characters would be meaningless. */
const leastWidth = 8

const textOf = (cell: Cell): string => {
  const text = typeof cell === 'string' ? cell : cell.text
  return text === '' ? '-' : show(text)
}

/** Returns column widths that fit into `total` together. The widest columns shrink first. */
export const fitWidths = (natural: readonly number[], total: number): readonly number[] => {
  const widths = [...natural]
  let over = widths.reduce((sum, width) => sum + width + gap.length, -gap.length) - total
  while (over > 0) {
    const widest = Math.max(...widths)
    if (widest <= leastWidth) break
    widths[widths.lastIndexOf(widest)] = widest - 1
    over -= 1
  }
  return widths
}

/** The ends of ids, names and ARNs say more than their middles. */
export const truncateMiddle = (text: string, width: number): string => {
  if (text.length <= width) return text
  const end = Math.floor((width - 1) / 2)
  return `${text.slice(0, width - 1 - end)}…${text.slice(text.length - end)}`
}

/**
 * Prints columns without borders, so that `awk` and people can read the same lines. On a terminal a table is no wider
 * than the terminal, unless `setWide` allowed it.
 */
export const printTable = (head: readonly string[], rows: readonly (readonly Cell[])[]): void => {
  const natural = head.map((name, column) =>
    Math.max(name.length, ...rows.map((row) => textOf(row[column] ?? '').length)),
  )
  const { isTTY, columns } = process.stdout
  const widths = isTTY && !isWide ? fitWidths(natural, columns) : natural
  const fit = (text: string, column: number): string => truncateMiddle(text, widths[column] ?? text.length)
  const table = new Table({
    head: head.map((name, column) => colored('bold', fit(name, column))),
    chars: { ...noBorders, middle: gap },
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  })
  for (const row of rows)
    table.push(
      row.map((cell, column) => {
        const text = fit(textOf(cell), column)
        return typeof cell === 'string' ? text : colored(cell.tone, text)
      }),
    )
  print(table.toString().replaceAll(/ +$/gm, ''))
}

/** Prints a table of `what`, or a line that says that there are none. */
export const printList = (what: string, head: readonly string[], rows: readonly (readonly Cell[])[]): void => {
  if (rows.length === 0) print(`No ${what}.`)
  else printTable(head, rows)
}
