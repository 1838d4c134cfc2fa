import type { SignerProvider, SignerServices } from '../../../core/api/signer.js'
import kms from '../../../signers/aws-kms/index.js'
import { doubleRegion, type KmsDouble } from '../../../core/testing/kms-double/index.js'
import { signerServices } from './services.js'

/** For calls that nobody gives up. */
export const never = new AbortController().signal

export const errorOf = (promise: Promise<unknown>): Promise<Error> =>
  promise.then(
    () => {
      throw new Error('it did not fail')
    },
    (error: unknown) => error as Error,
  )

export interface KmsProviderOptions {
  readonly region?: string
  /** Regions of the same double. */
  readonly replicas?: readonly string[]
  readonly deadline_ms?: number
  readonly concurrency?: number
}

/** The signer on a double, with credentials that the SDK finds in the environment. */
export const kmsProvider = async (
  { endpoint }: Pick<KmsDouble, 'endpoint'>,
  { replicas = [], ...options }: KmsProviderOptions = {},
  services: SignerServices = signerServices,
): Promise<SignerProvider> => {
  process.env['AWS_ACCESS_KEY_ID'] ??= 'AKIADOUBLE'
  process.env['AWS_SECRET_ACCESS_KEY'] ??= 'the double does not look at it'
  return kms.create(
    {
      region: doubleRegion,
      endpoint,
      deadline_ms: 2000,
      concurrency: 64,
      probe_secs: 300,
      ...options,
      replicas: replicas.map((region) => ({ region, endpoint })),
    },
    services,
  )
}
