import type { ServedLog } from '../keys/log/served-log.js'
import { parseTilePath } from '../keys/log/tiles.js'
import { OAuthError } from '../oauth/errors.js'
import type { Declaration } from './endpoint.js'
import type { Handler } from './message.js'

/** `GET /keys/log/checkpoint` (https://c2sp.org/tlog-tiles): the size and root of the key log, signed. */
export const keyLogCheckpointEndpoint = {
  path: '/keys/log/checkpoint',
  methods: ['GET'],
  body: 'none',
  cors: true,
  limit: { byAddress: 'key_log', byRefusals: false },
} as const satisfies Declaration

const tileOf = <Path extends string>(path: Path) =>
  ({
    path: `/keys/log/tile/${path}`,
    methods: ['GET'],
    body: 'none',
    cors: true,
    limit: { byAddress: 'key_log', byRefusals: false },
  }) as const satisfies Declaration

/**
 * `GET /keys/log/tile/…`: hashes and entries, in tiles of 256. Their numbers are written in groups of three digits, and
 * a narrower tile has its width behind: `0/000`, `0/000.p/8`, `entries/x001/234.p/8`.
 */
export const keyLogTileEndpoints = {
  tile: tileOf('{level}/{a}'),
  partialTile: tileOf('{level}/{a}/{b}'),
  partialFarTile: tileOf('{level}/{a}/{b}/{c}'),
}

/** Seconds. A new key is in the log when others see it, so a cache must not keep an old checkpoint. */
const checkpointSeconds = 2

const notFound = (): OAuthError => new OAuthError('invalid_request', 'The key log has no such part.', { status: 404 })

export const createKeyLogCheckpointEndpoint =
  (log: ServedLog): Handler =>
  async (request) => {
    const checkpoint = await log.checkpoint()
    if (checkpoint === undefined) throw notFound()
    const { body, etag } = checkpoint
    const headers = {
      'Content-Type': 'text/plain; charset=utf-8',
      'Cache-Control': `public, max-age=${String(checkpointSeconds)}, must-revalidate`,
      ETag: etag,
    }
    return request.header('if-none-match') === etag ? { status: 304, headers } : { status: 200, headers, body }
  }

export const createKeyLogTileEndpoint =
  (log: ServedLog): Handler =>
  async (request) => {
    const tile = parseTilePath([...request.path.values()].join('/'))
    const body = tile && (await log.tile(tile))
    if (body === undefined) throw notFound()
    // The content of a tile of this width never changes.
    const headers = {
      'Content-Type': 'application/octet-stream',
      'Cache-Control': 'public, max-age=31536000, immutable',
    }
    return { status: 200, headers, body }
  }
