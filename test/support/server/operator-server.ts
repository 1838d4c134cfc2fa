import { join } from 'node:path'
type Json = ReturnType<typeof JSON.parse>
import { openCommandLine } from './command-line.js'
import { startServer, type TestServer, type TestServerOptions } from './server.js'

/** An answer of the admin API. */
export interface ApiReply {
  readonly status: number
  readonly headers: Headers
  /** The parsed body; undefined when there is none. */
  readonly body: Json
}

export interface ApiRequest {
  readonly method?: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Sends requests to the admin API with the token of one operator. */
export type AskApi = (path: string, request?: ApiRequest) => Promise<ApiReply>

export interface OperatorServer extends TestServer {
  /** Issues a token with these roles on the command line. */
  issueToken(name: string, roles: readonly string[]): Promise<string>
  /** Returns what an operator with these roles sends. */
  as(...roles: readonly string[]): Promise<AskApi>
  /** Sends a request without a credential, or with the given one. */
  ask(path: string, request?: ApiRequest, token?: string): Promise<ApiReply>
}

/** A server with its admin API and operators of any role. */
export const startOperatorServer = async (options?: TestServerOptions): Promise<OperatorServer> => {
  const server = await startServer(options)
  const commands = await openCommandLine()
  const ask: OperatorServer['ask'] = async (path, { method = 'GET', body, headers } = {}, token) => {
    const reply = await fetch(`${server.admin}/api/v1${path}`, {
      method,
      headers: {
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    return { status: reply.status, headers: reply.headers, body: text === '' ? undefined : JSON.parse(text) }
  }
  const issueToken: OperatorServer['issueToken'] = async (name, roles) => {
    const config = join(server.directory, 'signet.yaml')
    const { stdout, stderr } = await commands.run([
      ...['operators', 'issue', name, '--json', '--config', config],
      ...roles.flatMap((role) => ['--role', role]),
    ])
    if (stdout === '') throw new Error(stderr)
    return (JSON.parse(stdout) as { token: string }).token
  }
  return {
    ...server,
    ...{ ask, issueToken },
    async as(...roles) {
      const token = await issueToken(roles.join('-'), roles)
      return (path, request) => ask(path, request, token)
    },
    async [Symbol.asyncDispose]() {
      await commands[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
}
