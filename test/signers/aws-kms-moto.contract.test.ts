/** The rules for keys of slots on a second KMS, moto. It lacks Ed25519. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, it } from 'vitest'
import type { SignerProvider } from '../../core/api/signer.js'
import { signerCases } from '../../core/testing/index.js'
import { describeWith } from '../support/services/describe-with.js'
import { kmsProvider } from '../support/signers/aws-kms-provider.js'
import { startMoto } from '../support/signers/moto.js'

describeWith('moto recipe', 'keys of slots in moto', () => {
  let provider: SignerProvider
  let end: () => Promise<unknown>
  beforeAll(async () => {
    const moto = await startMoto()
    const { endpoint } = moto
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
      await moto[Symbol.asyncDispose]()
    }
  }, 60_000)
  afterAll(() => end())

  for (const { name, run, makesKeys } of signerCases(['ES256']))
    if (makesKeys === true) it(name, () => run({ provider, ref: () => '', newName: () => `signet-${randomUUID()}` }))
})
