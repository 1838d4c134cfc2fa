import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parse, stringify } from 'yaml'
import { prepareDeployment, serviceClient, startServer, type TestServer, type TestServerOptions } from './server.js'

export type Json = Record<string, unknown>

export interface ReloadServer extends TestServer {
  /** Rewrites the file, as `edit` makes it. */
  edit(change: (configuration: Json) => Json): Promise<void>
  reload(body?: Record<string, string>): Promise<{ readonly status: number; readonly body: Json }>
  token(client?: { client_id: string; client_secret: string }): Promise<Response>
  /** What introspection says of a token. */
  isActive(token: string): Promise<boolean>
  kids(): Promise<readonly string[]>
}

/** A server whose file can be edited while it runs. */
export const startReloadServer = async (options: TestServerOptions = {}): Promise<ReloadServer> =>
  drive(await startServer(options))

/** Servers that are started one after another, or side by side, with the file as it is then. */
export const prepareRestarts = async (options: TestServerOptions = {}) => {
  const deployment = await prepareDeployment(options)
  return {
    edit: editor(deployment.directory),
    start: async () => drive(await deployment.start()),
    [Symbol.asyncDispose]: () => deployment[Symbol.asyncDispose](),
  }
}

const editor = (directory: string): ReloadServer['edit'] => {
  const file = join(directory, 'signet.yaml')
  return async (change) => writeFile(file, stringify(change(parse(await readFile(file, 'utf8')) as Json)))
}

const drive = (server: TestServer): ReloadServer => {
  const ask = (path: string, form: Record<string, string>, client: { client_id: string; client_secret: string }) =>
    fetch(server.issuer + path, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${client.client_id}:${client.client_secret}`)}` },
      body: new URLSearchParams(form),
    })
  return {
    ...server,
    edit: editor(server.directory),
    reload: async (body = {}) => {
      const reply = await fetch(`${server.admin}/reload`, { method: 'POST', body: new URLSearchParams(body) })
      return { status: reply.status, body: (await reply.json()) as Json }
    },
    token: (client = serviceClient) => ask('/token', { grant_type: 'client_credentials' }, client),
    isActive: async (token) => {
      const reply = await ask('/introspect', { token }, serviceClient)
      return ((await reply.json()) as { active: boolean }).active
    },
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

export { isoTime as iso } from '../../../core/clock.js'
