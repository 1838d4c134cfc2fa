import { connect, type Socket } from 'node:net'
import { onTestFinished } from 'vitest'
import { createApp, type AppOptions } from '../../../core/http/app.js'
import { routes } from '../../../core/http/routes.js'
import { attestationEndpoints } from '../../../core/host/attestation-endpoints.js'
import { grantEndpoints, machineEndpoints } from '../../../core/host/machine-endpoints.js'
import { peopleEndpoints } from '../../../core/host/people-endpoints.js'
import type { Endpoint } from '../../../core/endpoints/endpoint.js'
import { listen, type ListenOptions, type Listening } from '../../../core/http/server.js'
import { json, page, type Handler } from '../../../core/endpoints/message.js'
import type { JsonObject } from '../../../core/json.js'
import type { Log } from '../../../core/observe/log.js'
import { inEnglish } from '../../../core/oauth/said.js'

export interface LogLine {
  readonly level: string
  readonly message: string
  readonly fields: JsonObject
  readonly cause?: unknown
}

/** A log that keeps its lines. */
export const memoryLog = (): Log & { readonly lines: LogLine[] } => {
  const lines: LogLine[] = []
  const at =
    (level: string) =>
    (message: string, fields: JsonObject = {}, cause?: unknown): void =>
      void lines.push({ level, message, fields, cause })
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

export const errorPage: AppOptions['errorPage'] = ({ status, title, message, requestId }) => ({
  html: `<!doctype html><title>${inEnglish(title)}</title><h1>${inEnglish(title)}</h1><p>${inEnglish(message)}</p><p>${status} ${requestId}</p>`,
  language: 'en',
})

/** Tells back what it was given. */
export const echo: Handler = (request) =>
  json(200, {
    method: request.method,
    query: Object.fromEntries(request.query.values),
    form: Object.fromEntries(request.form.values),
    repeated: [...request.query.repeated, ...request.form.repeated],
    path: Object.fromEntries(request.path),
    address: request.address,
    authorization: request.header('authorization') ?? null,
    cookie: request.cookie('sid') ?? null,
  })

const declared = { ...machineEndpoints, ...grantEndpoints, ...peopleEndpoints, ...attestationEndpoints }

/** Handlers by the name of their endpoint; those that are not given tell back what they got. */
export type TinyEndpoints = Partial<Record<keyof typeof declared, Handler>>

const tinyEndpoints = (issuer: string, given: TinyEndpoints): readonly Endpoint[] => {
  const discovery: Handler = () =>
    json(200, { issuer, token_endpoint: `${issuer}/token` }, { 'Cache-Control': 'public, max-age=60' })
  const handlers: TinyEndpoints = {
    openidConfiguration: discovery,
    authorizationServerMetadata: discovery,
    keySet: () => json(200, { keys: [] }),
    home: () => page(200, '<h1>Signet</h1>', 'en'),
    login: (request) =>
      page(200, `<h1>Sign in</h1>${request.path.get('id')} ${request.form.values.get('username')}`, 'en'),
    ...given,
  }
  return Object.entries(declared).map(([name, declaration]) => ({
    ...declaration,
    answer: handlers[name as keyof typeof declared] ?? echo,
  }))
}

export interface Fixture extends Listening {
  readonly origin: string
  readonly log: ReturnType<typeof memoryLog>
}

export interface FixtureOptions
  extends Partial<Omit<AppOptions, 'routes' | 'log'>>, Partial<Omit<ListenOptions, 'log'>> {
  readonly issuer?: string
  readonly endpoints?: TinyEndpoints
}

/** The HTTP room with tiny endpoints on a free port. */
export const startFixture = async (options: FixtureOptions = {}): Promise<Fixture> => {
  const { issuer = 'http://localhost', endpoints = {}, host = '127.0.0.1', port = 0, ...more } = options
  const { tls, limits, clientCertificates, ...app } = more
  const log = memoryLog()
  const table = routes(issuer, tinyEndpoints(issuer, endpoints))
  const handler = createApp({
    routes: table,
    log,
    errorPage,
    secure: false,
    trustedProxies: [],
    requestBudgetMs: 3000,
    logLevel: 'info',
    ...app,
  })
  const listening = await listen(handler, {
    host,
    port,
    log,
    ...(tls === undefined ? {} : { tls }),
    ...(limits === undefined ? {} : { limits }),
    ...(clientCertificates === undefined ? {} : { clientCertificates }),
  })
  return { ...listening, log, origin: `http://127.0.0.1:${listening.port}` }
}

/** The same, for as long as one test. */
export const startUntilTestEnds = async (options: FixtureOptions): Promise<Fixture> => {
  const server = await startFixture(options)
  onTestFinished(() => server.close(0))
  return server
}

/** Sends bytes as they are and resolves with all that comes back until the server closes. */
export const raw = (port: number, ...parts: readonly (string | Buffer)[]): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1')
    let text = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk) => (text += String(chunk)))
    socket.on('close', () => resolve(text))
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    for (const part of parts) socket.write(part)
  })

/** A request that must pass after each bad one. */
export const expectGood = async (origin: string): Promise<void> => {
  const reply = await fetch(`${origin}/token`, { method: 'POST', body: new URLSearchParams({ grant_type: 'x' }) })
  if (reply.status !== 200) throw new Error(`the good request got ${reply.status}`)
  const body = (await reply.json()) as { form: Record<string, string> }
  if (body.form['grant_type'] !== 'x') throw new Error('the good request was misread')
}
