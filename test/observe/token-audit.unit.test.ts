import { createHash } from 'node:crypto'
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openAudit } from '../../core/observe/audit-file.js'
import { basic, otherClient, signedClient } from '../support/clients/clients.js'
import { decode, part } from '../support/forge/forge.js'
import { startTokenServer, type Answer, type TokenServer } from '../support/server/token-server.js'
import { publicClient, serviceClient, subject, webClient } from '../support/server/server.js'

type Line = Record<string, unknown> & { signatures?: { kid: string; alg: string; typ: string; digest: string }[] }

let host: TokenServer
beforeAll(async () => {
  host = await startTokenServer()
})
afterAll(() => host[Symbol.asyncDispose]())

/** The lines of one request. */
const linesOf = async (answer: Answer): Promise<readonly Line[]> => {
  const id = answer.headers.get('x-request-id')
  return ((await host.server.audit()) as readonly Line[]).filter((line) => line['request_id'] === id)
}

/** base64url SHA-256 of what was signed (RFC 7515 §5.1), from the token alone. */
const digestOf = (token: string): string =>
  createHash('sha256')
    .update(`${part(token, 0)}.${part(token, 1)}`, 'ascii')
    .digest('base64url')

const expectSigned = (line: Line | undefined, tokens: readonly string[]): void => {
  expect(line?.['event']).toBe('token.signed')
  expect(line?.signatures).toMatchObject(
    tokens.map((token) => ({ ...decode(token, 0), kid: 'es256', alg: 'ES256', digest: digestOf(token) })),
  )
}

describe('the audit log of /token', () => {
  it('has a signature record and an issue record for every token of a code exchange and of a refresh', async () => {
    const { code, grantId } = await host.mint.code({ clientId: 'app' })
    const issued = await host.redeem(code, {}, publicClient)
    const refreshed = await host.refresh(String(issued.body['refresh_token']))
    for (const [answer, grant_type] of [
      [issued, 'authorization_code'],
      [refreshed, 'refresh_token'],
    ] as const) {
      const { access_token, id_token } = answer.body as Record<string, string>
      const [signed, recorded, ...more] = await linesOf(answer)
      expect(more).toEqual([])
      expectSigned(signed, [access_token ?? '', id_token ?? ''])
      const claims = decode(access_token ?? '', 1)
      expect(recorded).toMatchObject({
        event: 'token.issued',
        client_id: 'app',
        client_auth_method: 'none',
        sub: subject,
        grant_type,
        grant_id: grantId,
        jti: claims['jti'],
        aud: [claims['aud']],
        scope: claims['scope'],
        exp: claims['exp'],
        id_token: true,
      })
      expect(signed?.['jti']).toBe(claims['jti'])
    }
  })

  it('has both for client credentials, and the signature of a signed userinfo', async () => {
    const form = { grant_type: 'client_credentials', scope: 'read' }
    const answer = await host.token(form, { authorization: basic(serviceClient) })
    const [signed, recorded, ...more] = await linesOf(answer)
    expect(more).toEqual([])
    expectSigned(signed, [String(answer.body['access_token'])])
    expect(recorded).toMatchObject({ event: 'token.issued', sub: 'service', scope: 'read', id_token: false })

    const { code } = await host.mint.code({ clientId: 'signed' })
    const { body } = await host.redeem(code, {}, signedClient)
    const userinfo = await host.userinfo(String(body['access_token']))
    const [released] = await linesOf(userinfo)
    expect(released).toMatchObject({ event: 'userinfo.released', client_id: 'signed', sub: subject })
    expect(released?.signatures?.[0]).toMatchObject({ typ: 'userinfo+jwt', digest: digestOf(userinfo.text) })
  })

  it('has signatures that were discarded, too', async () => {
    const { code, grantId } = await host.mint.code()
    await host.redeem(code)
    const replayed = await host.redeem(code)
    expect((await linesOf(replayed)).map(({ event }) => event)).toEqual([
      'token.signed',
      'code.reused',
      'token.refused',
    ])
    const reused = (await host.server.audit()).filter((line) => line['grant_id'] === grantId)
    expect(reused.map(({ event }) => event)).toEqual(['token.issued', 'code.reused'])
  })

  it.each([
    ['code of another client', 'invalid_grant', (code: string) => host.redeem(code, {}, otherClient)],
    ['wrong code_verifier', 'invalid_grant', (code: string) => host.redeem(code, { code_verifier: 'x'.repeat(43) })],
    ['no code_verifier', 'invalid_grant', (code: string) => host.redeem(code, { code_verifier: undefined })],
    ['malformed code_verifier', 'invalid_grant', (code: string) => host.redeem(code, { code_verifier: 'x' })],
    [
      'redirect_uri differs from the authorization request',
      'invalid_grant',
      (code: string) => host.redeem(code, { redirect_uri: 'https://x.example' }),
    ],
    ['unknown or expired code', 'invalid_grant', () => host.redeem('x'.repeat(43))],
    ['unknown, expired or revoked refresh token', 'invalid_grant', () => host.refresh('x'.repeat(65))],
    ['resource not allowed', 'invalid_target', (code: string) => host.redeem(code, { resource: 'https://x.example' })],
    [
      'wrong client_secret',
      'invalid_client',
      (code: string) => host.redeem(code, {}, { ...webClient, client_secret: 'wrong' }),
    ],
  ])('says why a request was refused: %s', async (reason, error, ask) => {
    const { code } = await host.mint.code()
    const [line, ...more] = await linesOf(await ask(code))
    expect(more).toEqual([])
    expect(line).toMatchObject({ error, reason })
    expect(line?.['event']).toBe(error === 'invalid_client' ? 'client.refused' : 'token.refused')
    expect((await host.redeem(code)).status).toBe(200)
  })

  it('numbers its lines without a gap', async () => {
    const lines = await host.server.audit()
    expect(lines.map((line) => line['seq'])).toEqual(lines.map((_, index) => index + 1))
    expect(new Set(lines.map((line) => line['v']))).toEqual(new Set([2]))
  })
})

describe('the audit file', () => {
  it('can be read after a process was killed in mid-line', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'signet-audit-'))
    const file = join(directory, 'audit.jsonl')
    const write = async () => {
      await using audit = await openAudit({ issuer: 'https://issuer.example', audit: { file } }, Date.now)
      await audit.record({ event: 'outage' })
      await audit.record({ event: 'outage' })
    }
    await write()
    await appendFile(file, '{"v":1,"seq":')
    await write()
    await write()
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
    await rm(directory, { recursive: true })
    expect(lines).toHaveLength(7)
    expect(lines[2]).toBe('{"v":1,"seq":')
    for (const line of lines.filter((_, index) => index !== 2))
      expect(JSON.parse(line)).toMatchObject({ event: 'outage' })
  })
})
