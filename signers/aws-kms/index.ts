import { CreateAliasCommand, CreateKeyCommand, DescribeKeyCommand } from '@aws-sdk/client-kms'
import { z } from 'zod'
import { defineSigner, KeyRefused, Unavailable, type SignerProvider } from '../../core/api/signer.js'
import { aliasOf } from './key-reference.js'
import { kmsAlgorithms } from './key-specs.js'
import { openKmsRegion, type KmsRegion } from './kms-region.js'
import { inTurn, openKmsSigner, type Regions } from './open-kms-signer.js'

/** With plain HTTP, anybody on the path could answer with a public key of their own. */
const isSafeEndpoint = (text: string): boolean => {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname))
}

const region = z.string().regex(/^[a-z]{2,4}(-[a-z]+)+-\d{1,2}$/, 'must be the name of an AWS region, eu-central-1')
const endpoint = z.string().refine(isSafeEndpoint, 'must be an https URL, or http of the loopback interface')

const options = z.strictObject({
  /** If absent, the SDK's own search applies (AWS_REGION, the profile). */
  region: region.optional(),
  /** For example a VPC endpoint. */
  endpoint: endpoint.optional(),
  /** Regions with replicas of the same multi-Region keys, in the order of failover. */
  replicas: z
    .array(z.strictObject({ region, endpoint: endpoint.optional() }))
    .max(8)
    .default([]),
  /** For one signature, including all attempts and regions. */
  deadline_ms: z.int().min(100).max(10_000).default(2000),
  /** Concurrent requests in each region. */
  concurrency: z.int().min(1).max(1000).default(64),
})

/** Creating a key is rare and takes time. */
const createBudgetMs = 10_000
/** Looked up by a ping before any key was opened. A missing key or a missing permission is an answer too. */
const pingAlias = 'alias/signet'
const answers = new Set(['NotFoundException', 'AccessDeniedException'])

/** Keys in AWS KMS, through the AWS SDK and its own search for credentials. */
export default defineSigner<z.infer<typeof options>>({
  name: 'aws-kms',
  apiVersion: 1,
  options,
  create({ deadline_ms: deadline, concurrency, replicas, ...first }, services): SignerProvider {
    // The SDK announces on stderr which Node its future versions need, but our package.json decides which version
    // runs.
    process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true'
    const open = (of: { region?: string | undefined; endpoint?: string | undefined }): KmsRegion =>
      openKmsRegion({ ...of, concurrency, services }, deadline)
    const regions: Regions = [open(first), ...replicas.map(open)]
    // Only an existing key can be replicated.
    const made = new Set<string>()

    return {
      concurrency,
      open: (ref, alg, signal) =>
        openKmsSigner(made.has(ref) ? [regions[0]] : regions, ref, alg, signal, deadline, services),
      async ping(signal) {
        try {
          await inTurn(regions, signal, deadline, (of, milliseconds) =>
            describe(of, pingAlias, { signal, milliseconds }),
          )
        } catch (error) {
          if (!(error instanceof KeyRefused && answers.has(nameOfCause(error)))) throw error
        }
      },
      async create(ref, alg, signal) {
        const alias = aliasOf(ref)
        const limits = { signal, milliseconds: createBudgetMs }
        if (await exists(regions[0], alias, limits)) throw new KeyRefused(`${alias} already exists`)
        const { KeyMetadata } = await regions[0].callOnce({
          subject: { action: 'CreateKey', ref: alias },
          ...limits,
          send: (client, abortSignal) =>
            client.send(
              new CreateKeyCommand({
                KeySpec: kmsAlgorithms[alg].keySpecs[0],
                KeyUsage: 'SIGN_VERIFY',
                Description: `Signet ${alg}`,
                MultiRegion: replicas.length > 0,
              }),
              { abortSignal },
            ),
        })
        const arn = KeyMetadata?.Arn
        if (arn === undefined) throw new KeyRefused('KMS created a key but did not return its ARN')
        made.add(arn)
        await nameKey(regions[0], alias, arn, limits)
        return arn
      },
      async [Symbol.asyncDispose]() {
        for (const of of regions) of.close()
      },
    }
  },
})

interface Limits {
  readonly signal: AbortSignal
  readonly milliseconds: number
}

const describe = (region: KmsRegion, ref: string, limits: Limits) =>
  region.call({
    subject: { action: 'DescribeKey', ref },
    ...limits,
    send: (client, abortSignal) => client.send(new DescribeKeyCommand({ KeyId: ref }), { abortSignal }),
  })

/** The name that KMS gives its refusal. */
const nameOfCause = ({ cause }: KeyRefused): string => (cause instanceof Error ? cause.name : '')

const exists = async (region: KmsRegion, alias: string, limits: Limits): Promise<boolean> => {
  try {
    await describe(region, alias, limits)
    return true
  } catch (error) {
    if (error instanceof KeyRefused && nameOfCause(error) === 'NotFoundException') return false
    throw error
  }
}

/** The key exists already, so its ARN must not be lost whatever fails now. */
const nameKey = async (region: KmsRegion, alias: string, arn: string, limits: Limits): Promise<void> => {
  try {
    await region.callOnce({
      subject: { action: 'CreateAlias', ref: alias },
      ...limits,
      send: (client, abortSignal) =>
        client.send(new CreateAliasCommand({ AliasName: alias, TargetKeyId: arn }), { abortSignal }),
    })
  } catch (error) {
    const made = `The key ${arn} was created, but its alias was not.`
    if (error instanceof KeyRefused) throw new KeyRefused(`${made} ${error.message}`, { cause: error })
    if (error instanceof Unavailable)
      throw new Unavailable(error.component, 'no', `${made} ${error.message}`, { cause: error })
    throw error
  }
}
