import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { serviceClient, startServer, type TestServer, type TestServerOptions } from '../support/server.js'

export type Json = Record<string, unknown>

export interface ReloadServer extends TestServer {
  /** Writes the file anew, as `edit` makes it. */
  edit(change: (configuration: Json) => Json): Promise<void>
  reload(body?: Record<string, string>): Promise<{ readonly status: number; readonly body: Json }>
  token(client?: { client_id: string; client_secret: string }): Promise<Response>
  kids(): Promise<readonly string[]>
}

/** A server whose file can be edited while it runs. */
export const startReloadServer = async (options: TestServerOptions = {}): Promise<ReloadServer> => {
  const server = await startServer(options)
  const file = join(server.directory, 'signet.yaml')
  return {
    ...server,
    edit: async (change) => writeFile(file, stringify(change(parse(await readFile(file, 'utf8')) as Json))),
    reload: async (body = {}) => {
      const reply = await fetch(`${server.admin}/reload`, { method: 'POST', body: new URLSearchParams(body) })
      return { status: reply.status, body: (await reply.json()) as Json }
    },
    token: ({ client_id, client_secret } = serviceClient) =>
      fetch(`${server.issuer}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa(`${client_id}:${client_secret}`)}` },
        body: new URLSearchParams({ grant_type: 'client_credentials' }),
      }),
    kids: async () => {
      const { keys } = (await (await fetch(`${server.issuer}/jwks.json`)).json()) as { keys: { kid: string }[] }
      return keys.map(({ kid }) => kid)
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

export const key = (kid: string, more: Json = {}): Json => ({
  kid,
  alg: 'ES256',
  signer: 'local',
  ref: `${kid}.pem`,
  ...more,
})

export const kidOf = async (reply: Response): Promise<string> => {
  const { access_token } = (await reply.json()) as { access_token: string }
  const [header = ''] = access_token.split('.')
  return (JSON.parse(Buffer.from(header, 'base64url').toString()) as { kid: string }).kid
}

export const iso = (time: number): string => new Date(time).toISOString()
