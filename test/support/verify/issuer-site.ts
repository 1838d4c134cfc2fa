import { deflateSync } from 'node:zlib'
import { createTestIssuer } from './attested-device.js'
import { listen } from './verify-server.js'

/** A test issuer with a web site: metadata, keys and a status list. Its answers can be delayed, spoilt and counted. */
export const startIssuerSite = async (clock: () => number) => {
  const asked: string[] = []
  /** By path: what is answered in place of what is right. */
  const instead = new Map<string, string | number>()
  let until: Promise<unknown> = Promise.resolve()
  const site = await listen((request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    void until.then(() => {
      const wrong = instead.get(path)
      const body = typeof wrong === 'string' ? wrong : pages[path]?.()
      response.writeHead(typeof wrong === 'number' ? wrong : body === undefined ? 404 : 200).end(body)
    })
  })
  const issuer = createTestIssuer(site.url, clock)
  const listUri = `${site.url}/status-lists/1`
  const revoked = new Set<number>()

  /** A token of a list of 64 devices in which `revoked` are revoked; as the draft has it unless a test says otherwise. */
  const list = (claims: object = {}, header: object = {}): string => {
    const bytes = new Uint8Array(8)
    for (const index of revoked) bytes[index >> 3] = (bytes[index >> 3] ?? 0) | (1 << (index % 8))
    const iat = Math.floor(clock() / 1000)
    const status_list = { bits: 1, lst: deflateSync(bytes).toString('base64url') }
    return issuer.sign(
      { typ: 'statuslist+jwt', ...header },
      { sub: listUri, iat, exp: iat + 3600, ttl: 60, status_list, ...claims },
    )
  }
  const pages: Record<string, () => string> = {
    '/.well-known/openid-configuration': () => JSON.stringify({ issuer: site.url, jwks_uri: `${site.url}/jwks.json` }),
    '/jwks.json': () => JSON.stringify(issuer.jwks()),
    '/status-lists/1': () => list(),
  }
  return {
    ...issuer,
    url: site.url,
    asked,
    instead,
    listUri,
    list,
    revoked,
    /** Answers wait until this resolves. */
    holdUntil(moment: Promise<unknown>) {
      until = moment
    },
    close: site.close,
  }
}
