import { randomBytes } from 'node:crypto'
import type { Clock } from '../../clock.js'
import type { JsonValue } from '../../json.js'
import type { EphemeralBackend, StorageBackend } from '../../storage/ports.js'

/** What the parts of the storage contract run against. */
export interface Subject<Backend extends EphemeralBackend = StorageBackend> {
  readonly backend: () => Backend
  /** Opens the same store again. */
  readonly open: () => Promise<Backend>
  readonly clock: Clock
  /** Moves the clock. */
  readonly pass: (seconds: number) => void
}

/** Declares one case. */
export type It = (name: string, run: () => Promise<void>) => void
/** Declares the cases of one port. */
export type Describe = (port: string, state: (it: It) => void) => void

export const oddIds: readonly (readonly [string, string])[] = [
  ['one character', 'x'],
  ['512 characters', 'i'.repeat(512)],
  ['512 characters of three bytes each', '漢'.repeat(512)],
  ['emoji', '👩‍👩‍👧🏳️‍🌈'],
  ['combining characters', 'e\u0301 \u00e9'],
  ['__proto__', '__proto__'],
  ['constructor', 'constructor'],
  ['NUL', '\0'],
  ['NUL inside', 'a\0b'],
  ['slashes', '../../etc/passwd'],
  ['backslashes and quotes', '\\"\'`$'],
  ['spaces', '  '],
  ['line breaks', 'a\r\nb'],
  ['a dot', '.'],
  ['wildcards', '*?[]{}'],
  ['a number', '42'],
  ['half a surrogate pair', 'a\ud800'],
  ['the other half', 'a\udc00'],
  ['the replacement character', 'a\ufffd'],
]

export const oddRecords: readonly (readonly [string, JsonValue])[] = [
  ['null', null],
  ['false', false],
  ['zero', 0],
  ['a fraction', 0.1],
  ['a large number', Number.MAX_SAFE_INTEGER],
  ['an empty string', ''],
  ['a string of odd characters', '\0\u2028漢👩‍👩‍👧"\\\ud800'],
  ['an empty array', []],
  ['nested arrays', [[[]], [null, [1]]]],
  ['an empty object', {}],
  ['odd names', { '': 1, 'a.b': 2, $set: 3, constructor: 4, length: 5, '0': 6, 'é\0': 7 }],
  ['__proto__ as a name', JSON.parse('{"__proto__":{"admin":true},"x":1}') as JsonValue],
  ['100 levels', JSON.parse(`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`) as JsonValue],
  ['100 KB', { text: 'é'.repeat(50_000) }],
]

/** A collection that no other test uses, so that tests sharing a store do not affect each other. */
export const newCollection = (): string =>
  `c_${[...randomBytes(12)].map((byte) => String.fromCharCode(97 + (byte % 26))).join('')}`

/** Declares cases that each have their own collection, in a store from `open`. */
export const inOwnCollection = <Store>(test: It, open: (collection: string) => Store) => {
  let collection = newCollection()
  const it: It = (name, run) =>
    test(name, () => {
      collection = newCollection()
      return run()
    })
  return { it, store: () => open(collection) }
}
