import { once } from 'node:events'
import { createServer, request as send, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Record<string, unknown>
}

export interface Sent {
  readonly method?: string
  readonly target?: string
  /** Names and values alternate, so that a header can be there twice. */
  readonly headers?: readonly string[]
  readonly body?: string
  /** Sends no length. */
  readonly chunked?: boolean
}

/** A server of `node:http` on a port of its own. */
export const listen = async (listener: RequestListener) => {
  const server = createServer(listener)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${String(port)}`,
    port,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Sends exactly these headers, and gives the answer, whose body is JSON. */
export const ask = (port: number, { method = 'GET', target = '/', headers = [], body = '', chunked }: Sent) =>
  new Promise<Answer>((resolve, reject) => {
    const length = body === '' && !chunked ? [] : chunked ? ['transfer-encoding', 'chunked'] : lengthOf(body)
    const asking = send({
      port,
      host: '127.0.0.1',
      method,
      path: target,
      headers: ['host', 'api.example', ...length, ...headers],
    })
    asking.on('error', reject).on('response', (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk)).on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: JSON.parse(text === '' ? '{}' : text) as Record<string, unknown>,
        })
      })
    })
    asking.end(body)
  })

const lengthOf = (body: string): string[] => ['content-length', String(Buffer.byteLength(body))]
