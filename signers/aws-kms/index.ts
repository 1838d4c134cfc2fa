import { DescribeKeyCommand } from '@aws-sdk/client-kms'
import { z } from 'zod'
import {
  defineSigner,
  KeyRefused,
  type JwsAlg,
  type SignatureTrace,
  type Signer,
  type SignerProvider,
} from '../../core/api/signer.js'
import { patiently } from './key-calls.js'
import { aliasOf } from './key-reference.js'
import { nameOfCause } from './kms-errors.js'
import { openKmsRegion, type KmsRegion } from './kms-region.js'
import { inTurn, openKmsSigner, type Regions } from './open-kms-signer.js'
import type { CallLimits } from './pinned-key.js'
import { createKey, deleteKey, disableKey, findKeys, inspectKey, listTagged } from './slot-keys.js'

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
  /** Seconds between two probes of a key, each of which is one request. */
  probe_secs: z.int().min(5).max(3600).default(300),
})

/** Milliseconds for one call that makes, lists or removes keys, which is rare and takes time. */
const manageMs = 10_000
/** Milliseconds in which KMS shows a new key everywhere. */
const newMs = 300_000
/** Looked up by a ping before any key was opened. A missing key or a missing permission is an answer too. */
const pingAlias = 'alias/signet'
const answers = new Set(['NotFoundException', 'AccessDeniedException'])

/** Keys in AWS KMS, through the AWS SDK and its own search for credentials. */
export default defineSigner<z.infer<typeof options>>({
  name: 'aws-kms',
  apiVersion: 1,
  options,
  create(
    { deadline_ms: deadline, concurrency, probe_secs: probeSeconds, replicas, ...first },
    services,
  ): SignerProvider {
    // The SDK announces on stderr which Node its future versions need, but our package.json decides which version
    // runs.
    process.env['AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED'] ??= 'true'
    const open = (of: { region?: string | undefined; endpoint?: string | undefined }): KmsRegion =>
      openKmsRegion({ ...of, concurrency, services }, deadline)
    const regions: Regions = [open(first), ...replicas.map(open)]
    // KMS does not show a new key everywhere at once.
    const made = new Map<string, number>()
    const remember = (arn: string): void => void made.set(arn, services.clock())
    const isNew = (ref: string): boolean => services.clock() - (made.get(ref) ?? -Infinity) < newMs
    const limited = (signal: AbortSignal): CallLimits => ({ signal, milliseconds: manageMs })

    const openMade = async (ref: string, alg: JwsAlg, signal: AbortSignal): Promise<Signer> => {
      const opening = () => openKmsSigner(regions, ref, alg, signal, deadline, services)
      if (!isNew(ref)) return opening()
      const signer = await patiently(signal, opening)
      return Object.freeze({
        ...signer,
        sign: (message: Uint8Array, callSignal: AbortSignal, trace?: SignatureTrace) =>
          isNew(ref)
            ? patiently(callSignal, () => signer.sign(message, callSignal, trace))
            : signer.sign(message, callSignal, trace),
      })
    }

    return {
      concurrency,
      probeSeconds,
      open: (ref, alg, signal) =>
        made.has(ref) ? openMade(ref, alg, signal) : openKmsSigner(regions, ref, alg, signal, deadline, services),
      async ping(signal) {
        try {
          await inTurn(regions, signal, deadline, (of, milliseconds) => look(of, pingAlias, { signal, milliseconds }))
        } catch (error) {
          if (!(error instanceof KeyRefused && answers.has(nameOfCause(error)))) throw error
        }
      },
      create: async (name, alg, signal, tags) =>
        createKey(regions, { alias: aliasOf(name), alg, tags }, limited(signal), remember),
      async find(name, signal, tags) {
        const found = await findKeys(regions, name, tags, limited(signal))
        if (tags !== undefined) found.forEach(remember)
        return found
      },
      list: (_prefix, deployment, signal) => listTagged(regions[0], deployment, limited(signal)),
      inspect: (ref, signal) => inspectKey(regions[0], ref, limited(signal)),
      async facts() {
        const [region, ...others] = await Promise.all(regions.map((one) => one.name()))
        const service = { region: region ?? '', endpoint: first.endpoint ?? 'the default of the region' }
        return { service: others.length === 0 ? service : { ...service, replicas: others.join(', ') } }
      },
      removal: {
        disable: (ref, signal) => disableKey(regions, ref, limited(signal)),
        destroy: (ref, signal) => deleteKey(regions, ref, limited(signal)),
      },
      async [Symbol.asyncDispose]() {
        for (const of of regions) of.close()
      },
    }
  },
})

const look = (region: KmsRegion, ref: string, limits: CallLimits) =>
  region.call({
    subject: { action: 'DescribeKey', ref },
    ...limits,
    send: (client, abortSignal) => client.send(new DescribeKeyCommand({ KeyId: ref }), { abortSignal }),
  })
