import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { formatCheckpoint, originOf } from '../../../core/keys/log/checkpoint.js'
import { encodeEntry, type KeyLogEntry } from '../../../core/keys/log/entry.js'
import { leafHash, rootOf } from '../../../core/keys/log/merkle.js'
import { formatNote, formatNoteKey, noteKey } from '../../../core/keys/log/note.js'
import { encodeBundle, parseTilePath } from '../../../core/keys/log/tiles.js'
import { createOutboundFetch } from '../../../core/outbound/outbound-fetch.js'
import { watchKeyLog, type SeenLog } from '../../../core/operate/watch-key-log.js'

export const now = Date.parse('2026-11-26T12:00:00Z')

/** A key of an issuer, with what the log says of it. */
export const newKey = (kid: string, purposes: KeyLogEntry['purposes'] = ['access_token']) => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const { x = '' } = publicKey.export({ format: 'jwk' })
  const thumbprint = createHash('sha256')
    .update(JSON.stringify({ crv: 'Ed25519', kty: 'OKP', x }))
    .digest('base64url')
  const entry = (step: KeyLogEntry['step'], time = '2026-11-26T06:00:00Z'): KeyLogEntry => ({
    ...{ kid, thumbprint, alg: 'EdDSA', purposes, signer: 'signers/local', step, time },
  })
  return { kid, jwk: { kty: 'OKP', crv: 'Ed25519', x, kid, alg: 'EdDSA', use: 'sig' }, privateKey, publicKey, entry }
}

export type LogKey = ReturnType<typeof newKey>

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** An issuer that serves what a test says: its keys, its entries, the signer of its checkpoint. */
export class LyingIssuer implements AsyncDisposable {
  keys: readonly Record<string, unknown>[] = []
  entries: readonly string[] = []
  /** What the checkpoint covers, if not the entries. */
  covered: readonly string[] | undefined
  signer: LogKey | undefined
  issuer = ''
  /** Answers in the place of those that follow from the members, by path. */
  readonly answers = new Map<string, Answer>()
  readonly asked: string[] = []
  #close: (() => Promise<void>) | undefined

  static async start(): Promise<LyingIssuer> {
    const lying = new LyingIssuer()
    const server = createServer((request, response) => lying.#answer(request, response)).listen(0, '127.0.0.1')
    await once(server, 'listening')
    lying.issuer = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`
    lying.#close = async () => {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }
    return lying
  }

  log(...entries: readonly KeyLogEntry[]): void {
    this.entries = [...this.entries, ...entries.map(encodeEntry)]
  }

  note(): string {
    const covered = this.covered ?? this.entries
    const root = rootOf(covered.map((entry) => leafHash(Buffer.from(entry))))
    const text = formatCheckpoint({ origin: originOf(this.issuer), size: covered.length, root })
    if (this.signer === undefined) throw new Error('no signer')
    const { publicKey, privateKey } = this.signer
    return formatNote(text, noteKey(originOf(this.issuer), publicKey), sign(null, Buffer.from(text), privateKey))
  }

  verifierKey({ publicKey }: LogKey): string {
    return formatNoteKey(noteKey(originOf(this.issuer), publicKey))
  }

  /** Looks at it as `signet keys log verify` does, by real requests. */
  async look(seen?: SeenLog) {
    const fetch = createOutboundFetch({ allowPrivateAddresses: true, deadlineMs: 1000 })
    return watchKeyLog({
      ...{ issuer: this.issuer, seen, now, sleep: () => Promise.resolve() },
      fetch: (url, maxBytes) => fetch(url, '*/*', { maxBytes }),
    })
  }

  async kinds(seen?: SeenLog): Promise<readonly string[]> {
    return (await this.look(seen)).findings.map(({ kind, kid }) => (kid === undefined ? kind : `${kind} ${kid}`))
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? ''
    this.asked.push(path)
    const own = this.answers.get(path)
    if (own !== undefined) return own(request, response)
    const json = (value: unknown) => void response.end(JSON.stringify(value))
    if (path === '/.well-known/openid-configuration')
      return json({ issuer: this.issuer, jwks_uri: `${this.issuer}/jwks.json` })
    if (path === '/jwks.json') return json({ keys: this.keys })
    if (path === '/keys/log/checkpoint') return void response.end(this.note())
    const tile = parseTilePath(path.replace('/keys/log/tile/', ''))
    if (tile === undefined) return void response.writeHead(404).end()
    response.end(encodeBundle(this.entries.slice(tile.index * 256, tile.index * 256 + tile.width)))
  }

  async [Symbol.asyncDispose]() {
    await this.#close?.()
  }
}

/** Sends a little for as long as somebody listens. */
export const drip: Answer = (_request, response) => {
  const send = async () => {
    while (!response.destroyed) {
      response.write('x')
      await delay(20)
    }
  }
  void send()
}

/** Sends as much as somebody reads. */
export const flood: Answer = (_request, response) => {
  const chunk = Buffer.alloc(65_536, 'x')
  const send = () => {
    while (!response.destroyed && response.write(chunk));
  }
  response.on('drain', send)
  send()
}
