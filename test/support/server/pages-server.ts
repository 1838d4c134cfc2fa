import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createAssetEndpoint } from '../../../core/endpoints/assets.js'
import type { EndpointRequest } from '../../../core/endpoints/message.js'
import { pagePolicy } from '../../../core/http/security-headers.js'
import { loadAssets } from '../../../core/interaction/pages/load-assets.js'
import { noParameters, parseParameters } from '../../../core/oauth/requests/params.js'

export interface PagesServer extends AsyncDisposable {
  readonly origin: string
  /** HTML by path. */
  readonly pages: Map<string, string>
  /** Bodies of the forms that were posted here, in order. */
  readonly posted: { readonly path: string; readonly body: string }[]
}

/** Serves the given HTML and the real assets under the pages' Content-Security-Policy. */
export const startPagesServer = async (served = loadAssets()): Promise<PagesServer> => {
  const pages = new Map<string, string>()
  const posted: { path: string; body: string }[] = []
  const assets = createAssetEndpoint(served)
  const server = createServer((request, response) => {
    void (async () => {
      const url = new URL(request.url ?? '/', 'http://localhost')
      response.setHeader('X-Content-Type-Options', 'nosniff')
      if (request.method === 'POST') {
        const chunks: Buffer[] = []
        for await (const chunk of request) chunks.push(chunk as Buffer)
        posted.push({ path: url.pathname, body: Buffer.concat(chunks).toString() })
        response.setHeader('Content-Type', 'text/html; charset=utf-8')
        response.end(
          '<!doctype html><title>posted</title><link rel="icon" href="/assets/signet.svg"><p id="posted">posted</p>',
        )
        return
      }
      const html = pages.get(url.pathname)
      if (html !== undefined) {
        response.setHeader('Content-Security-Policy', pagePolicy())
        response.setHeader('Content-Type', 'text/html; charset=utf-8')
        response.end(html)
        return
      }
      const reply = await assets({
        method: 'GET',
        query: parseParameters(url.search.slice(1)),
        form: noParameters,
        path: new Map([['name', url.pathname.replace('/assets/', '')]]),
        header: (name) => request.headers[name] as string | undefined,
        cookie: () => undefined,
        clientCertificate: () => undefined,
        address: '127.0.0.1',
        requestId: 'r',
        signal: new AbortController().signal,
      } satisfies EndpointRequest)
      response.writeHead(reply.status, reply.headers)
      response.end(reply.body)
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    pages,
    posted,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
