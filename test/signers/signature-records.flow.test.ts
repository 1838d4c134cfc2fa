import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { createHash } from 'node:crypto'
import { join, relative } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { noLog } from '../../core/observe/log.js'
import { startTokenServer, type TokenServer } from '../support/server/token-server.js'
import { publicClient } from '../support/server/server.js'
import { startReloadServer, type Json, type ReloadServer } from '../support/server/reloading.js'

let server: ReloadServer | undefined
afterEach(() => server?.[Symbol.asyncDispose]())

let host: TokenServer | undefined
afterEach(() => host?.[Symbol.asyncDispose]())

describe('the record of signatures', () => {
  it('has the one that a later failure made useless; the code is not used up', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'signet-signer-'))
    const module = join(folder, 'traced.mjs')
    const fails = join(folder, 'fails')
    await writeFile(module, tracedSigner.replace('async sign(message, signal, trace) {', `$&${failOn(fails)}`))
    host = await startTokenServer({
      log: noLog,
      configure: (file) => ({
        ...file,
        id_token_signing_alg: 'ES256',
        signers: { traced: { use: `../${relative(tmpdir(), module)}` } },
        keys: [{ kid: 'traced', alg: 'ES256', signer: 'traced', ref: 'one' }],
      }),
    })
    await writeFile(fails, '')
    const { code } = await host.mint.code({ clientId: 'app' })
    const answer = await host.redeem(code, {}, publicClient)
    expect(answer.status).toBe(503)
    const signed = (await host.server.audit()).filter(({ event }) => event === 'token.signed')
    expect(signed).toMatchObject([{ client_id: 'app', signatures: [{ typ: 'at+jwt', reference: 'request-2' }] }])
    await rm(fails)
    expect((await host.redeem(code, {}, publicClient)).status).toBe(200)
    await rm(folder, { recursive: true })
  })

  it('has every probe, with the name that the backend gave it', async () => {
    const running = (server = await startReloadServer())
    await writeFile(join(running.directory, 'traced.js'), tracedSigner)
    await running.edit((file) => ({
      ...file,
      signers: { ...(file['signers'] as Json), traced: { use: './traced.js' } },
      keys: [
        { kid: 'traced', alg: 'ES256', signer: 'traced', ref: 'one', allow_early: true },
        ...(file['keys'] as Json[]),
      ],
    }))
    expect((await running.reload()).status).toBe(200)
    const { access_token } = (await (await running.token()).json()) as { access_token: string }
    const audit = await running.audit()
    const proved = audit.find(({ event, signer }) => event === 'key.proved' && signer === 'traced')
    expect(proved).toMatchObject({ ref: 'one', alg: 'ES256', reference: 'request-1', key: 'arn:key', key_version: '7' })
    const signed = audit.findLast(({ event }) => event === 'token.signed')
    const digest = createHash('sha256')
      .update(access_token.replace(/\.[^.]*$/, ''))
      .digest('base64url')
    expect(signed).toMatchObject({
      client_id: 'service',
      signatures: [{ kid: 'traced', purpose: 'access_token', digest, reference: 'request-2', key_version: '7' }],
    })
  })
})

/** An id_token is not signed while this file is there. */
const failOn = (file: string): string => `
  const [head] = Buffer.from(message).toString().split('.')
  const isIdToken = Buffer.from(head, 'base64url').toString().includes('"JWT"')
  if (isIdToken && (await import('node:fs')).existsSync('${file}')) throw new Error('the signer failed')
`

const tracedSigner = `
import { createPublicKey, generateKeyPairSync, sign } from 'node:crypto'
export default {
  name: 'traced', apiVersion: 1,
  create() {
    let requests = 0
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { kty, crv, x, y } = createPublicKey(privateKey).export({ format: 'jwk' })
    return {
      open: async () => ({
        alg: 'ES256',
        publicJwk: { kty, crv, x, y },
        async sign(message, signal, trace) {
          if (trace) Object.assign(trace, { reference: 'request-' + ++requests, key: 'arn:key', keyVersion: '7' })
          return sign('sha256', message, { key: privateKey, dsaEncoding: 'ieee-p1363' })
        },
      }),
      ping: async () => {},
      [Symbol.asyncDispose]: async () => {},
    }
  },
}
`
