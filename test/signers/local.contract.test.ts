import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { allAlgorithms } from '../../core/jose/algorithms.js'
import local from '../../signers/local/index.js'
import { signerContract } from '../support/signers/signer-contract.js'
import { signerServices } from '../support/signers/services.js'

signerContract(
  'local',
  async () => {
    const directory = await mkdtemp(join(tmpdir(), 'signet-keys-'))
    const provider = await local.create({ directory, create: false }, signerServices)
    const signal = new AbortController().signal
    const refs = new Map<string, string>()
    return {
      provider,
      newName: () => `signet-${randomUUID()}`,
      async ref(alg) {
        const known = refs.get(alg)
        if (known !== undefined) return known
        const ref = (await provider.create?.(`${alg}.pem`, alg, signal)) ?? ''
        refs.set(alg, ref)
        return ref
      },
      async [Symbol.asyncDispose]() {
        await provider[Symbol.asyncDispose]()
        await rm(directory, { recursive: true })
      },
    }
  },
  allAlgorithms,
  true,
)
