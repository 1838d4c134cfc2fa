import { compactVerify, importJWK } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allAlgorithms } from '../../../core/jose/algorithms.js'
import type { JwsAlg } from '../../../core/jose/jwk.js'
import { signerCases, type SignerUnderTest } from '../../../core/testing/index.js'
import { serialize, signingInput } from '../../../core/tokens/compact-serializer.js'

/** A provider and its keys, with whatever has to be closed after them. */
export interface SignerBackend extends SignerUnderTest, AsyncDisposable {}

const never = new AbortController().signal

/**
 * The published contract of signers, each rule a test, those of slots with `makes`; and jose, which shares no code with it, verifies a token.
 */
export const signerContract = (
  name: string,
  openBackend: () => Promise<SignerBackend>,
  supported: readonly JwsAlg[] = allAlgorithms,
  makes = false,
): void => {
  describe(`signer contract: ${name}`, () => {
    let backend: SignerBackend
    beforeAll(async () => {
      backend = await openBackend()
    })
    afterAll(() => backend[Symbol.asyncDispose]())

    for (const { alg = 'every algorithm', name: rule, run, makesKeys = false } of signerCases(supported))
      if (makes || !makesKeys) it(`${alg}: ${rule}`, () => run(backend))

    it.each(supported)('%s: signs what jose verifies with the published key', async (alg) => {
      const signer = await backend.provider.open(await backend.ref(alg), alg, never)
      const input = signingInput({ alg, kid: 'k1', typ: 'at+jwt' }, { iss: 'https://id.example', sub: 'ünïcode' })
      const token = serialize(input, await signer.sign(Buffer.from(input), never))
      const verified = await compactVerify(token, await importJWK(signer.publicJwk, alg), { algorithms: [alg] })
      expect(verified.protectedHeader).toEqual({ alg, kid: 'k1', typ: 'at+jwt' })
      expect(JSON.parse(new TextDecoder().decode(verified.payload))).toEqual({
        iss: 'https://id.example',
        sub: 'ünïcode',
      })
    })
  })
}
