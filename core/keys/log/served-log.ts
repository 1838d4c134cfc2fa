import { hash } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { RecentMap } from '../../recent-map.js'
import type { KeyLogHead } from './head.js'
import { readHead, tileId, type KeyLogStore } from './log-store.js'
import { hasTile, readTile } from './read-log.js'
import { encodeBundle, tileWidth, type Tile } from './tiles.js'

/** Milliseconds for which the head is answered from memory. */
const freshMs = 1000
/** Full tiles and bundles in memory, of 8 KiB and some 60 KiB. */
const mostTiles = 64

/** The public part of the log. */
export interface ServedLog {
  /** The last signed note, which may be a second old; undefined before the first. Throws `Unavailable`. */
  checkpoint(): Promise<{ readonly body: Buffer; readonly etag: string } | undefined>
  /** The bytes of a tile or bundle; undefined when there is none of this width. Throws `Unavailable`. */
  tile(tile: Tile): Promise<Buffer | undefined>
}

export const createServedLog = (store: Pick<KeyLogStore, 'find'>): ServedLog => {
  const full = new RecentMap<string, Buffer>(mostTiles)
  let last: { readonly at: number; readonly head: KeyLogHead } | undefined
  let reading: Promise<KeyLogHead> | undefined

  /** Concurrent callers share one read. */
  const readOnce = (): Promise<KeyLogHead> =>
    (reading ??= readHead(store)
      .then((head) => {
        last = { at: performance.now(), head }
        return head
      })
      .finally(() => (reading = undefined)))

  const recentHead = async (): Promise<KeyLogHead> =>
    last !== undefined && performance.now() - last.at < freshMs ? last.head : readOnce()

  return {
    async checkpoint() {
      const { checkpoint } = await recentHead()
      if (checkpoint === undefined) return undefined
      return { body: Buffer.from(checkpoint), etag: `"${hash('sha256', checkpoint, 'base64url')}"` }
    },
    async tile(tile) {
      const { level, index, width } = tile
      const name = tileId(level, index)
      const known = full.get(name)
      if (known !== undefined && width === tileWidth) return known
      const recent = await recentHead()
      // The log may have grown since, at another replica.
      const found = await readTile(store, hasTile(recent, tile) ? recent : await readOnce(), tile)
      if (found === undefined) return undefined
      const bytes = 'entries' in found ? encodeBundle(found.entries) : Buffer.concat(found.hashes)
      if (width === tileWidth) full.set(name, bytes)
      return bytes
    },
  }
}
