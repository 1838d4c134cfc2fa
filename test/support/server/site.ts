import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type RequestListener } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { buffer } from 'node:stream/consumers'

/** What a site was asked. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** A service of a deployer, on loopback; `answer` may be set at will. */
export interface Site extends AsyncDisposable {
  readonly url: string
  readonly asked: Asked[]
  answer: RequestListener
}

export const jsonAnswer =
  (body: unknown): RequestListener =>
  (_request, response) =>
    void response.setHeader('content-type', 'application/json').end(JSON.stringify(body))

export const textAnswer =
  (text: string | Uint8Array): RequestListener =>
  (_request, response) =>
    void response.end(text)

/** What a site does that gives no answer (F35). Each ends when the connection does. */
export const noAnswers: Readonly<Record<string, RequestListener>> = {
  hangs: () => undefined,
  'hangs after the headers': (_request, response) => void response.flushHeaders(),
  drips: (_request, response) => {
    response.setHeader('content-length', 40_000)
    const drip = setInterval(() => response.write(' '), 20)
    response.on('close', () => clearInterval(drip))
  },
  floods: (_request, response) => {
    const flood = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(16_384, ' ')));
    }
    response.on('drain', flood)
    flood()
  },
  'sends long headers': (_request, response) => void response.setHeader('x-long', 'x'.repeat(20_000)).end('{}'),
  redirects: (_request, response) => void response.writeHead(307, { location: '/elsewhere' }).end(),
  'answers 500': (_request, response) => void response.writeHead(500).end('{"ok":true}'),
  'answers 404': (_request, response) => void response.writeHead(404).end('{"ok":true}'),
  'answers 204': (_request, response) => void response.writeHead(204).end(),
  'closes the connection': (request) => void request.socket.destroy(),
  'closes in the middle': (_request, response) => {
    response.setHeader('content-length', 100)
    response.write('{"ok":true', () => response.destroy())
  },
}

export const openSite = async (
  answer: RequestListener = jsonAnswer({}),
  tls?: { readonly cert: string; readonly key: string },
): Promise<Site> => {
  const asked: Asked[] = []
  const site = { asked, answer }
  const listener: RequestListener = (request, response) => {
    const { method = '', url: path = '', headers } = request
    void buffer(request).then(
      (body) => {
        asked.push({ method, path, headers, body })
        site.answer(request, response)
      },
      () => undefined,
    )
  }
  const server = tls === undefined ? createServer(listener) : createSecureServer(tls, listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  return Object.assign(site, {
    url: `${tls === undefined ? 'http' : 'https'}://127.0.0.1:${String(port)}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  })
}
