/**
 * The rules for keys of slots on a second KMS, moto. It is no judge of signatures: it hashes digests again and lacks
 * Ed25519.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, it, vi } from 'vitest'
import type { SignerProvider } from '../../core/api/signer.js'
import { signerCases } from '../../core/testing/index.js'
import { freePort } from '../support/free-port.js'
import { describeWith } from '../support/services/describe-with.js'
import { recipes } from '../support/services/recipes.js'
import { kmsProvider } from '../support/signers/aws-kms-provider.js'

describeWith('moto recipe', 'keys of slots in moto', () => {
  let provider: SignerProvider
  let end: () => Promise<unknown>
  beforeAll(async () => {
    const port = await freePort()
    const server = spawn(
      join(recipes.moto.folder, 'venv/bin/python'),
      ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)],
      { stdio: 'ignore' },
    )
    const endpoint = `http://127.0.0.1:${String(port)}`
    const signer = await kmsProvider({ endpoint })
    const { removal } = signer
    // Moto answers 500 when these two name a key by its ARN, which KMS takes.
    const idOf = (arn: string) => arn.slice(arn.indexOf('/') + 1)
    provider = {
      ...signer,
      removal: {
        disable: async (arn, signal) => removal?.disable(idOf(arn), signal),
        destroy: async (arn, signal) => removal?.destroy(idOf(arn), signal),
      },
    }
    end = async () => {
      await signer[Symbol.asyncDispose]()
      server.kill('SIGKILL')
      await once(server, 'close')
    }
    await vi.waitFor(() => fetch(endpoint), { timeout: 50_000 })
  }, 60_000)
  afterAll(() => end())

  for (const { name, run, makesKeys } of signerCases(['ES256']))
    if (makesKeys === true) it(name, () => run({ provider, ref: () => '', newName: () => `signet-${randomUUID()}` }))
})
