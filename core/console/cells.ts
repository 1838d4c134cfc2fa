import { isoTime } from '../clock.js'
import type { Translator } from '../interaction/languages/translator.js'

/** The colour of a value. `bad` needs an operator to act, `warn` soon. */
export type Tone = 'good' | 'warn' | 'bad' | 'idle'

/** A button that posts a form. Fields are hidden. */
export interface Button {
  /** Below the path of the console. */
  readonly action: string
  readonly title: string
  readonly fields?: Readonly<Record<string, string>>
  readonly danger?: boolean
}

/** A value on a page: the content of a table cell or a fact. */
export interface Cell {
  readonly text?: string | undefined
  /** A second, smaller line. */
  readonly small?: string | undefined
  /** Below the path of the console. */
  readonly href?: string | undefined
  /** An address elsewhere, which opens in a tab of its own. */
  readonly url?: string
  readonly tone?: Tone
  /** True for names of machines, which are read from left to right. */
  readonly code?: boolean
  readonly time?: { readonly iso: string; readonly text: string }
  /** Aligned as a number. */
  readonly number?: boolean
  readonly buttons?: readonly Button[]
  readonly links?: readonly { readonly href: string; readonly title: string }[]
  /** A text that opens on demand. */
  readonly details?: { readonly title: string; readonly pre: string }
}

/** A heading of a column, or a column of numbers. */
export type Column = string | { readonly title: string; readonly number: true }

export interface Table {
  readonly columns: readonly Column[]
  /** The first cell of each row names it. */
  readonly rows: readonly (readonly Cell[])[]
}

export type Fact = readonly [label: string, value: Cell]

/** A part of a page with its heading. */
export interface Section {
  readonly title?: string
  readonly lead?: string | undefined
  readonly facts?: readonly Fact[]
  readonly table?: Table
  /** Shown in place of an empty table. */
  readonly empty?: string
  readonly links?: readonly { readonly href: string; readonly title: string; readonly danger?: boolean }[]
  readonly buttons?: readonly Button[]
  /** Text of a program or a file. */
  readonly pre?: string | undefined
}

export const code = (text: string | undefined): Cell => (text === undefined ? {} : { text, code: true })

/** A time in milliseconds since the epoch, which a script shows in local time. */
export const timeCell = (texts: Translator, ms: number | undefined): Cell =>
  ms === undefined || !Number.isFinite(ms)
    ? { text: '–' }
    : { time: { iso: isoTime(ms), text: texts.time(Math.floor(ms / 1000)) } }

export const numberCell = (value: number): Cell => ({ text: String(value), number: true })

/** The path of a page, each segment encoded. */
export const pathTo = (...segments: readonly string[]): string =>
  segments.map((segment) => `/${encodeURIComponent(segment)}`).join('')
