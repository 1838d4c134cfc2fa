import type { Asset } from '../interaction/pages/load-assets.js'
import type { Declaration } from './endpoint.js'
import type { Handler } from './message.js'

const forEver = 'public, max-age=31536000, immutable'
const briefly = 'public, max-age=300'

/**
 * Deployments can supply pictures. A browser that opens one as a page runs no script of it and loads nothing for it.
 */
const picturePolicy = { 'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox" }

/**
 * `GET /assets/{name}`: a file from the map, or 404. Links with the file's version may be cached for ever (RFC 8246),
 * others for five minutes.
 */
export const assetEndpoint = {
  path: '/assets/{name}',
  methods: ['GET'],
  body: 'none',
  fromMemory: true,
  limit: { byAddress: 'documents', byRefusals: false },
} as const satisfies Declaration

export const createAssetEndpoint =
  (assets: ReadonlyMap<string, Asset>): Handler =>
  (request) => {
    const asset = assets.get(request.path.get('name') ?? '')
    if (!asset) {
      return {
        status: 404,
        headers: { 'Content-Type': 'text/plain; charset=utf-8', 'Cache-Control': 'no-store' },
        body: 'Not found\n',
      }
    }
    const etag = `"${asset.version}"`
    const headers = {
      ETag: etag,
      'Cache-Control': request.query.values.get('v') === asset.version ? forEver : briefly,
    }
    const known = request
      .header('if-none-match')
      ?.split(',')
      .map((tag) => tag.trim().replace(/^W\//, ''))
    if (known?.includes(etag) || known?.includes('*')) return { status: 304, headers }
    const policy = asset.contentType === 'image/svg+xml' ? picturePolicy : {}
    return { status: 200, headers: { 'Content-Type': asset.contentType, ...policy, ...headers }, body: asset.body }
  }
