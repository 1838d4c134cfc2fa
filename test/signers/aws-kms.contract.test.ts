/**
 * The contract on the double, and on a real KMS where the environment names one:
 *
 *     SIGNET_KMS_REGION=eu-central-1 SIGNET_KMS_KEYS=ES256=arn:aws:kms:…,RS256=alias/tokens \
 *       npx vitest run test/signers/aws-kms.contract.test.ts
 *
 * Credentials are found by the SDK; SIGNET_KMS_ENDPOINT is a VPC endpoint. The run makes some hundred signatures of each key.
 */
import { randomUUID } from 'node:crypto'
import { it } from 'vitest'
import { allAlgorithms, isJwsAlg } from '../../core/jose/algorithms.js'
import type { JwsAlg } from '../../core/jose/jwk.js'
import { KeyRefused } from '../../core/keys/ports.js'
import kms from '../../signers/aws-kms/index.js'
import { kmsAlgorithms } from '../../signers/aws-kms/key-specs.js'
import { doubleRegion, startKmsDouble, type DoubleKeySpec } from '../../core/testing/kms-double/index.js'
import { kmsProvider } from '../support/signers/aws-kms-provider.js'
import { signerServices } from '../support/signers/services.js'
import { signerContract } from '../support/signers/signer-contract.js'

signerContract(
  'AWS KMS (double)',
  async () => {
    const double = await startKmsDouble()
    const provider = await kmsProvider(double)
    const arns = new Map<JwsAlg, string>()
    return {
      provider,
      newName: () => `signet-${randomUUID()}`,
      async ref(alg) {
        const known = arns.get(alg)
        if (known !== undefined) return known
        const { arn } = await double.createKey(kmsAlgorithms[alg].keySpecs[0] as DoubleKeySpec)
        arns.set(alg, arn)
        return arn
      },
      async [Symbol.asyncDispose]() {
        await provider[Symbol.asyncDispose]()
        await double[Symbol.asyncDispose]()
      },
    }
  },
  allAlgorithms,
  true,
)

const { SIGNET_KMS_REGION: region, SIGNET_KMS_KEYS: named, SIGNET_KMS_ENDPOINT: endpoint } = process.env
const refs = new Map(
  (named ?? '').split(',').map((pair) => [pair.split('=')[0] ?? '', pair.slice(pair.indexOf('=') + 1)]),
)
const algs = allAlgorithms.filter((alg) => refs.has(alg))

if (region !== undefined && algs.length > 0 && [...refs.keys()].every(isJwsAlg))
  signerContract(
    `AWS KMS in ${region}`,
    async () => {
      const options = { region, endpoint, replicas: [], deadline_ms: 2000, concurrency: 64, probe_secs: 300 }
      const provider = await kms.create(options, signerServices)
      const ref = async (alg: JwsAlg): Promise<string> => {
        const known = refs.get(alg)
        if (known === undefined) throw new KeyRefused(`SIGNET_KMS_KEYS has no key for ${alg}`)
        return known
      }
      return { provider, ref, [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose]() }
    },
    algs,
  )
else if (region !== undefined || named !== undefined)
  it('AWS KMS', () => {
    throw new Error(`needs SIGNET_KMS_REGION (${doubleRegion}) and SIGNET_KMS_KEYS (ES256=arn:aws:kms:…,RS256=alias/…)`)
  })
