import { hashBytes, type Hash } from './merkle.js'

/** Hashes of a full tile, and entries of a full bundle (https://c2sp.org/tlog-tiles). */
export const tileWidth = 256

/** A tile of hashes of one level, or a bundle of entries. */
export interface Tile {
  readonly level: number | 'entries'
  readonly index: number
  /** `tileWidth` for a full one. */
  readonly width: number
}

/** Returns the number of hashes at a tile level in a tree of this size. */
export const levelSize = (level: number, size: number): number => Math.floor(size / tileWidth ** level)

const formatIndex = (index: number): string => {
  const digits = String(index)
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? []
  return groups.map((group, place) => (place < groups.length - 1 ? `x${group}` : group)).join('/')
}

/** The path of a tile below the address of the log. */
export const formatTilePath = ({ level, index, width }: Tile): string =>
  `tile/${String(level)}/${formatIndex(index)}${width === tileWidth ? '' : `.p/${String(width)}`}`

/** Reads what follows `tile/`. Undefined when no tile is written so. */
export const parseTilePath = (path: string): Tile | undefined => {
  const [, name = '', written = '', partial] =
    /^(entries|\d|[1-5]\d|6[0-3])\/((?:x\d{3}\/){0,4}\d{3})(?:\.p\/([1-9]\d{0,2}))?$/.exec(path) ?? []
  if (name === '') return undefined
  const index = Number(written.replaceAll(/[x/]/g, ''))
  const width = partial === undefined ? tileWidth : Number(partial)
  const tile: Tile = { level: name === 'entries' ? name : Number(name), index, width }
  // A number is written in one way only.
  return width <= tileWidth && `tile/${path}` === formatTilePath(tile) ? tile : undefined
}

/** The tiles of one level of a tree of this size: full ones, and perhaps one that is partial. */
export const tilesOf = (level: Tile['level'], size: number): readonly Tile[] => {
  const count = levelSize(level === 'entries' ? 0 : level, size)
  return Array.from({ length: Math.ceil(count / tileWidth) }, (_, index) => ({
    ...{ level, index, width: Math.min(tileWidth, count - index * tileWidth) },
  }))
}

/** Entries with their lengths before them, as 16 bits. */
export const encodeBundle = (entries: readonly string[]): Buffer =>
  Buffer.concat(
    entries.flatMap((entry) => {
      const bytes = Buffer.from(entry)
      const length = Buffer.alloc(2)
      length.writeUInt16BE(bytes.length)
      return [length, bytes]
    }),
  )

/** Reads a bundle of exactly `width` entries from anywhere, or returns undefined. */
export const decodeBundle = (bundle: Uint8Array, width: number): readonly Buffer[] | undefined => {
  const bytes = Buffer.from(bundle.buffer, bundle.byteOffset, bundle.byteLength)
  const entries: Buffer[] = []
  let at = 0
  while (at + 2 <= bytes.length && entries.length < width) {
    const end = at + 2 + bytes.readUInt16BE(at)
    if (end > bytes.length) return undefined
    entries.push(bytes.subarray(at + 2, end))
    at = end
  }
  return at === bytes.length && entries.length === width ? entries : undefined
}

export const encodeHashes = (hashes: readonly Hash[]): string => Buffer.concat(hashes).toString('base64')

export const decodeHashes = (encoded: string): readonly Hash[] => {
  const bytes = Buffer.from(encoded, 'base64')
  return Array.from({ length: Math.floor(bytes.length / hashBytes) }, (_, index) =>
    bytes.subarray(index * hashBytes, (index + 1) * hashBytes),
  )
}
