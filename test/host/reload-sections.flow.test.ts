import { access, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { afterEach, describe, expect, it } from 'vitest'
import { authorizeUrl } from '../support/forge/mint.js'
import { serviceClient } from '../support/server/server.js'
import { key, kidOf, startReloadServer, type Json, type ReloadServer } from '../support/server/reloading.js'

let server: ReloadServer | undefined
afterEach(() => server?.[Symbol.asyncDispose]())
const open = async (configure?: (written: Json) => Json) =>
  (server = await startReloadServer(configure ? { configure } : {}))

describe('POST /reload', () => {
  it('changes clients and accounts, and counts people', async () => {
    const running = await open()
    const other = { ...serviceClient, client_id: 'other' }
    expect((await running.token(other)).status).toBe(401)
    await running.edit((file) => ({ ...file, clients: [other], accounts: [] }))
    expect(await running.reload()).toEqual({
      status: 200,
      body: {
        status: 'reloaded',
        changes: {
          clients: { added: ['other'], removed: ['web', 'app', 'service'], changed: [] },
          accounts: { added: 0, removed: 1, changed: 0 },
        },
        forced: [],
      },
    })
    expect((await running.token(other)).status).toBe(200)
    expect((await running.token()).status).toBe(401)
    expect(await running.reload()).toEqual({ status: 200, body: { status: 'unchanged' } })
  })

  it('changes how pages look, also where only a file has changed', async () => {
    const running = await open()
    const pageOf = async (path: string) => (await fetch(running.issuer + path)).text()
    const sheet = join(running.directory, 'extra.css')
    await writeFile(sheet, 'h1 { color: green }')
    await running.edit((file) => ({ ...file, ui: { name: 'Example Bank', stylesheet: './extra.css' } }))
    expect(await running.reload()).toMatchObject({
      body: { status: 'reloaded', changes: { ui: { added: ['name', 'stylesheet'], removed: [], changed: ['files'] } } },
    })
    const before = await pageOf('/')
    expect(before).toContain('<title>OpenID Provider · Example Bank</title>')
    expect(await pageOf('/authorize')).toContain('· Example Bank</title>')
    await writeFile(sheet, 'h1 { color: blue }')
    expect(await running.reload()).toMatchObject({ body: { changes: { ui: { changed: ['files'] } } } })
    const [, address = ''] = /href="([^"]*brand-[^"]*)"/.exec(await pageOf('/')) ?? []
    expect(before).not.toContain(address)
    expect(await (await fetch(new URL(address, running.issuer))).text()).toBe('h1 { color: blue }')
    await writeFile(sheet, '@import "x";')
    expect(await running.reload()).toMatchObject({ status: 400, body: { problems: [{ path: 'ui.stylesheet' }] } })
    expect(await running.reload()).toMatchObject({ status: 400 })
  })

  it('gives each page of a client its own theme: sign-in, error, and the way back', async () => {
    const theme = { name: 'Example Bank', clients: { web: { name: 'The Shop' } } }
    const running = await open((file) => ({ ...file, ui: theme }))
    const titleOf = async (response: Response) => /<title>.* · (.*)<\/title>/.exec(await response.text())?.[1]
    const at = (client_id: string, more: Record<string, string> = {}) =>
      authorizeUrl(running.issuer, { client_id, ...more })
    const begun = await fetch(at('web'), { redirect: 'manual' })
    const page = new URL(begun.headers.get('location') ?? '', running.issuer)
    const headers = {
      cookie: begun.headers
        .getSetCookie()
        .map((cookie) => cookie.split(';')[0])
        .join('; '),
    }
    expect(await titleOf(await fetch(page, { headers }))).toBe('The Shop')
    const forged = await fetch(page, { method: 'POST', headers, body: new URLSearchParams({ username: 'alice' }) })
    expect(forged.status).toBe(403)
    expect(await titleOf(forged)).toBe('The Shop')
    const silent = { prompt: 'none', response_mode: 'form_post' }
    expect(await titleOf(await fetch(at('web', silent)))).toBe('The Shop')
    expect(await titleOf(await fetch(at('app', silent)))).toBe('Example Bank')
  })

  it('notices a changed secret, although it prints the same', async () => {
    const sound = await open()
    const secret = 'another-secret-of-more-than-256-bits-for-tests-only'
    await writeFile(join(sound.directory, 'secret'), serviceClient.client_secret)
    await sound.edit((file) => ({ ...file, clients: [{ ...serviceClient, client_secret: { $file: 'secret' } }] }))
    expect((await sound.reload()).status).toBe(200)
    expect((await sound.token()).status).toBe(200)
    await writeFile(join(sound.directory, 'secret'), secret)
    expect(await sound.reload()).toMatchObject({
      status: 200,
      body: { changes: { clients: { changed: ['service'] } } },
    })
    expect((await sound.token({ ...serviceClient, client_secret: secret })).status).toBe(200)
    expect((await sound.token()).status).toBe(401)
  })

  it('opens a new signer, and closes one that is gone after its last use', async () => {
    const running = await open()
    const log = join(running.directory, 'closed')
    await writeFile(join(running.directory, 'signer.js'), loggingSigner(log))
    await running.edit((file) => ({
      ...file,
      signers: { ...(file['signers'] as Json), own: { use: './signer.js', options: {} } },
      keys: [key('own', { signer: 'own', allow_early: true }), key('es256')],
    }))
    expect(await running.reload()).toMatchObject({ status: 200, body: { changes: { signers: { added: ['own'] } } } })
    expect(await kidOf(await running.token())).toBe('own')
    await expect(access(log)).rejects.toThrow('ENOENT')

    const slow = running.token()
    await expect.poll(() => readFile(join(running.directory, 'closed.signing'), 'utf8')).toContain('at+jwt')
    await running.edit((file) => ({
      ...file,
      signers: { local: (file['signers'] as Json)['local'] },
      keys: [key('es256')],
    }))
    expect((await running.reload({ force: 'true' })).status).toBe(200)
    await writeFile(`${log}.go`, '')
    expect(await kidOf(await slow)).toBe('own')
    await expect.poll(() => readFile(log, 'utf8').catch(() => '')).toBe('closed after 2 tokens')
    expect(await kidOf(await running.token())).toBe('es256')
  })

  it('changes nothing for a file with mistakes, and names each with its path', async () => {
    const running = await open()
    const before = await running.audit()
    await running.edit((file) => ({ ...file, keys: [key('es256', { alg: 'HS256' })], clients: [{ client_id: '' }] }))
    const { status, body } = await running.reload()
    expect(status).toBe(400)
    expect((body['problems'] as { path: string }[]).map(({ path }) => path)).toEqual(
      expect.arrayContaining(['keys[0].alg', 'clients[0].client_id']),
    )
    expect((await running.token()).status).toBe(200)
    const events = (await running.audit()).slice(before.length).map(({ event }) => event)
    expect(events).not.toContain('configuration.loaded')
  })

  it('changes nothing when a key cannot be opened', async () => {
    const running = await open()
    await running.edit((file) => ({
      ...file,
      clients: [],
      signers: { ...(file['signers'] as Json), empty: { use: 'signers/local', options: { directory: './none' } } },
      keys: [...(file['keys'] as Json[]), key('absent', { signer: 'empty' })],
    }))
    const { status, body } = await running.reload()
    expect({ status, body }).toMatchObject({ status: 400, body: { problems: [{ path: 'keys[1]' }] } })
    expect((await running.token()).status).toBe(200)
    expect(await running.kids()).toEqual(['es256'])
  })

  it('names what needs a restart and applies no part', async () => {
    const running = await open()
    await running.edit((file) => ({
      ...file,
      clients: [],
      id_token_ttl_secs: 5,
      listen: { host: '127.0.0.1', port: 1 },
    }))
    const { status, body } = await running.reload()
    expect(status).toBe(400)
    expect((body['problems'] as { path: string }[]).map(({ path }) => path).sort()).toEqual([
      'id_token_ttl_secs',
      'listen.port',
    ])
    expect((await running.token()).status).toBe(200)
  })

  it('is not for web pages, and accepts only force', async () => {
    const running = await open()
    const page = await fetch(`${running.admin}/reload`, { method: 'POST', headers: { origin: 'https://evil.example' } })
    expect(page.status).toBe(403)
    expect((await running.reload({ force: 'yes' })).status).toBe(400)
    expect((await running.reload({ fore: 'true' })).status).toBe(400)
    expect((await fetch(`${running.admin}/reload`)).status).toBe(405)
    expect((await fetch(`${running.issuer}/reload`, { method: 'POST' })).status).toBe(404)
  })

  it('requires the admin token', async () => {
    const running = await open((file) => ({ ...file, admin: { host: '127.0.0.1', port: 0, token: 'admin-token' } }))
    expect((await running.reload()).status).toBe(401)
  })

  it('fails no request under load, and every token verifies', async () => {
    const running = await open()
    const jwks = createRemoteJWKSet(new URL(`${running.issuer}/jwks.json`), { cooldownDuration: 0 })
    const statuses = new Map<number, number>()
    const kids = new Set<string>()
    let stop = false
    const drive = async (): Promise<void> => {
      while (!stop) {
        const reply = await running.token()
        statuses.set(reply.status, (statuses.get(reply.status) ?? 0) + 1)
        const { access_token } = (await reply.json()) as { access_token: string }
        const { protectedHeader } = await jwtVerify(access_token, jwks, { issuer: running.issuer })
        kids.add(protectedHeader.kid ?? '')
      }
    }
    const drivers = Array.from({ length: 8 }, drive)
    for (let round = 1; round <= 6; round++) {
      await running.edit((file) => ({
        ...file,
        keys: [key(`k${round}`, { allow_early: true }), ...(file['keys'] as Json[])],
      }))
      expect((await running.reload()).status).toBe(200)
      await expect.poll(() => kids.has(`k${round}`)).toBe(true)
    }
    stop = true
    await Promise.all(drivers)
    expect([...statuses.keys()]).toEqual([200])
    expect(kids.size).toBeGreaterThanOrEqual(6)
  })
})

/** A signer that tells when a token is signed and when it is closed; its second token waits for a file. */
const loggingSigner = (log: string) => `
import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
import { appendFileSync, existsSync } from 'node:fs'
import { setTimeout } from 'node:timers/promises'

export default {
  name: 'logging', apiVersion: 1,
  options: { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } },
  create() {
    let tokens = 0
    let closed = false
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { kty, crv, x, y } = createPublicKey(privateKey).export({ format: 'jwk' })
    return {
      open: async () => ({
        alg: 'ES256',
        publicJwk: { kty, crv, x, y },
        async sign(message) {
          const text = Buffer.from(message).toString()
          if (text.startsWith('ey') && ++tokens > 1) {
            appendFileSync('${log}.signing', Buffer.from(text.split('.')[0], 'base64url'))
            while (!existsSync('${log}.go')) await setTimeout(5)
            if (closed) throw new Error('closed')
          }
          return sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' })
        },
      }),
      ping: async () => {},
      async [Symbol.asyncDispose]() {
        closed = true
        appendFileSync('${log}', 'closed after ' + tokens + ' tokens')
      },
    }
  },
}
`
