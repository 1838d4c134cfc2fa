import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noLog } from '../../core/observe/log.js'
import { startDpopServer, type DpopServer } from '../support/server/dpop-server.js'
import { expectRefusal } from '../support/server/token-server.js'

type Client = Readonly<Record<string, unknown>>

describe('signed userinfo, with a signer that fails', () => {
  let directory: string
  let dpop: DpopServer
  const say = (word: string) => writeFile(join(directory, 'control'), word)

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'signet-userinfo-'))
    await say('sign')
    const use = fileURLToPath(new URL('../support/signers/failing-signer.ts', import.meta.url))
    const signedUserinfo = (client: Client) => ({ ...client, userinfo_signed_response_alg: 'ES256' })
    dpop = await startDpopServer({
      log: noLog,
      configure: (written) => ({
        ...written,
        signers: { double: { use, options: { control: join(directory, 'control') } } },
        keys: [{ kid: 'double', alg: 'ES256', signer: 'double', ref: 'x' }],
        clients: (written['clients'] as Client[]).map(signedUserinfo),
      }),
    })
  })
  afterAll(async () => {
    await dpop.host[Symbol.asyncDispose]()
    await rm(directory, { recursive: true })
  })

  it.each(['unavailable', 'throw', 'hang'])('SF03 %s: 503, and the DPoP proof is not used up', async (word) => {
    const token = await dpop.boundToken()
    const proof = await dpop.userinfoProof(token)
    await say(word)
    const failed = await dpop.userinfo(`DPoP ${token}`, proof)
    await say('sign')
    expectRefusal(failed, 503, 'temporarily_unavailable')
    // The proof of the same request passes, and then never again.
    expect((await dpop.userinfo(`DPoP ${token}`, proof)).status).toBe(200)
    expectRefusal(await dpop.userinfo(`DPoP ${token}`, proof), 401, 'invalid_dpop_proof')

    const lines = (await dpop.host.server.audit()).filter(({ event }) => String(event).startsWith('userinfo.'))
    const [released, refused] = lines.slice(-2)
    expect(released).toMatchObject({ event: 'userinfo.released', signatures: [{ kid: 'double' }] })
    expect(refused).toMatchObject({ event: 'userinfo.refused', signatures: [{ kid: 'double' }] })
  })
})
