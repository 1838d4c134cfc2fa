import { randomUUID } from 'node:crypto'
import type { JwsAlg } from '../../../../core/jose/jwk.js'
import type { SignerBackend } from '../signer-contract.js'
import { makeToken, openProvider } from './token.js'

const never = new AbortController().signal

/** A new token, and in it a key for each algorithm that is asked for, made by the signer itself. */
export const softBackend = async (): Promise<SignerBackend> => {
  const token = await makeToken()
  // A machine that runs many tests at once may be slow to answer.
  const provider = await openProvider(token, { deadline_ms: 20_000 })
  const refs = new Map<JwsAlg, Promise<string>>()
  const make = async (alg: JwsAlg): Promise<string> => (await provider.create?.(`key ${alg}`, alg, never)) ?? ''
  return {
    provider,
    newName: () => `signet-${randomUUID()}`,
    ref(alg) {
      const ref = refs.get(alg) ?? make(alg)
      refs.set(alg, ref)
      return ref
    },
    async [Symbol.asyncDispose]() {
      await provider[Symbol.asyncDispose]()
      await token[Symbol.asyncDispose]()
    },
  }
}
