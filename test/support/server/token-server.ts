import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createPrivateKey, type KeyObject } from 'node:crypto'
import { expect } from 'vitest'
import type { Doubles } from '../../../core/host/compose.js'
import type { Clock } from '../../../core/clock.js'
import { noLog, type Log } from '../../../core/observe/log.js'
import type { StorageBackend } from '../../../core/storage/ports.js'
import { fromAnotherAddress } from '../addresses.js'
import { publicClient, redirectUri, startServer, subject, webClient, type TestServer } from './server.js'
import { openTestRecords } from '../stores/test-stores.js'
import { basic, clients, type Credentials } from '../clients/clients.js'
import { createMint, verifier, type Mint } from '../forge/mint.js'

type Json = Record<string, unknown>

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Json
}

export const read = async (response: Response): Promise<Answer> => {
  const text = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true
  return { status: response.status, headers: response.headers, text, body: isJson ? (JSON.parse(text) as Json) : {} }
}

export type Form = Readonly<Record<string, string | undefined>> | readonly (readonly [string, string])[] | string

const encode = (form: Form): string => {
  if (typeof form === 'string') return form
  const entries = Array.isArray(form) ? (form as readonly (readonly [string, string])[]) : Object.entries(form)
  const sent = entries.filter((entry): entry is [string, string] => entry[1] !== undefined)
  return new URLSearchParams(sent).toString()
}

/** POST of a form; a string is sent as it is. */
export const postForm = async (
  url: string,
  form: Form,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> => {
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  return read(
    await fetch(url, { method: 'POST', body: encode(form), headers: { ...type, ...fromAnotherAddress(), ...headers } }),
  )
}

const trace = /node_modules|\.[jt]s:\d+|\bat (?:async )?[\w.<>]+ \(|node:internal|ZodError|lmdb/i

/** What every refusal of a machine endpoint has in common (docs/design/attacks.md). */
export const expectRefusal = (answer: Answer, status: number, error: string | readonly string[]): void => {
  expect({ status: answer.status, error: answer.body['error'] }).toEqual({
    status,
    error: typeof error === 'string' ? error : expect.toBeOneOf([...error]),
  })
  expect(Object.keys(answer.body)).toEqual(['error', 'error_description'])
  expect(answer.headers.get('cache-control')).toBe('no-store')
  expect(answer.headers.get('pragma')).toBe('no-cache')
  expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f]{32}$/)
  expect(answer.headers.get('server') ?? answer.headers.get('x-powered-by')).toBeNull()
  expect(answer.text).not.toMatch(trace)
}

export interface TokenServer extends AsyncDisposable {
  readonly server: TestServer
  readonly store: StorageBackend
  readonly mint: Mint
  /** Milliseconds that the server's clock is ahead. */
  later(milliseconds: number): void
  /** Stops the server's clock at this time, in milliseconds since the epoch; `later` lets it run again from there. */
  stopAt(time: number): void
  now(): number
  /** POST /token. The secrets among what was sent must not come back. */
  token(form: Form, headers?: Readonly<Record<string, string>>): Promise<Answer>
  /** With the right redirect_uri and verifier; undefined leaves a parameter out. */
  redeem(code: string, overrides?: Readonly<Record<string, string | undefined>>, client?: Credentials): Promise<Answer>
  refresh(
    token: string,
    overrides?: Readonly<Record<string, string | undefined>>,
    client?: Credentials,
  ): Promise<Answer>
  userinfo(token: string): Promise<Answer>
  /** An honest code exchange, refresh and userinfo: all pass. */
  expectGood(): Promise<void>
  /** The server's own private key, for tokens that nobody should have been able to make. */
  key(): Promise<KeyObject>
}

export interface TokenServerOptions {
  readonly configure?: (configuration: Json) => Json
  readonly log?: Log
  /** The store that the configuration names, when it is not the embedded one. */
  readonly openStore?: (clock: Clock) => Promise<StorageBackend>
  /** Puts doubles between the core and its store or its audit log. */
  readonly doubles?: Doubles
}

/** The running product with a handle on its store and its clock. */
export const startTokenServer = async (options: TokenServerOptions = {}): Promise<TokenServer> => {
  let ahead = 0
  let stopped: number | undefined
  const clock = () => stopped ?? Date.now() + ahead
  const settings = {
    clock,
    ...(options.log && { log: options.log }),
    ...(options.doubles && { doubles: options.doubles, log: options.log ?? noLog }),
    configure: (written: Json) => {
      const configured = { ...written, clients, trusted_proxies: ['127.0.0.1/32'] }
      return options.configure?.(configured) ?? configured
    },
  }
  const server = await startServer(settings)
  const store = await (options.openStore?.(clock) ?? openTestRecords(join(server.directory, 'store'), clock))
  const stored = createMint(store)
  const mint: Mint = {
    code: (overrides, minting) => stored.code(overrides, { now: clock(), ...minting }),
    refreshToken: (overrides, minting) => stored.refreshToken(overrides, { now: clock(), ...minting }),
  }

  const post = async (path: string, body: string, headers: Readonly<Record<string, string>>): Promise<Answer> => {
    const answer = await postForm(server.issuer + path, body, headers)
    if (answer.status === 200) return answer
    for (const value of new URLSearchParams(body).values())
      if (value.length >= 20) expect(answer.text).not.toContain(value)
    return answer
  }

  const authenticated = (form: Readonly<Record<string, string | undefined>>, client: Credentials): Promise<Answer> =>
    client.client_secret === undefined
      ? post('/token', encode({ client_id: client.client_id, ...form }), {})
      : post('/token', encode(form), { authorization: basic(client) })

  const host: TokenServer = {
    server,
    store,
    mint,
    later: (milliseconds) => {
      if (stopped !== undefined) ahead = stopped - Date.now()
      stopped = undefined
      ahead += milliseconds
    },
    stopAt: (time) => void (stopped = time),
    now: clock,
    token: (form, headers = {}) => post('/token', encode(form), headers),
    redeem: (code, overrides = {}, client = webClient) =>
      authenticated(
        { grant_type: 'authorization_code', code, redirect_uri: redirectUri, code_verifier: verifier, ...overrides },
        client,
      ),
    refresh: (refresh_token, overrides = {}, client = publicClient) =>
      authenticated({ grant_type: 'refresh_token', refresh_token, ...overrides }, client),
    userinfo: async (token) =>
      read(await fetch(`${server.issuer}/userinfo`, { headers: { authorization: `Bearer ${token}` } })),
    async expectGood() {
      const { code } = await mint.code({ clientId: 'app' })
      const issued = await host.redeem(code, {}, publicClient)
      expect(issued).toMatchObject({ status: 200, body: { token_type: 'Bearer' } })
      expect(issued.headers.get('cache-control')).toBe('no-store')
      expect(issued.headers.get('pragma')).toBe('no-cache')
      const claims = await host.userinfo(String(issued.body['access_token']))
      expect(claims).toMatchObject({ status: 200, body: { sub: subject } })
      expect((await host.refresh(String(issued.body['refresh_token']))).status).toBe(200)
    },
    key: async () => createPrivateKey(await readFile(join(server.directory, 'keys', 'es256.pem'))),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]()
      await server[Symbol.asyncDispose]()
    },
  }
  return host
}
