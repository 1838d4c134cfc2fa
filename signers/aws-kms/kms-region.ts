import { KMSClient } from '@aws-sdk/client-kms'
import { createProxyAgent, KeyRefused, withDeadline, type SignerServices } from '../../core/api/signer.js'
import { kmsError, kmsTimeout, type KmsQuestion } from './kms-errors.js'
import { onceStrategy, retryStrategy } from './retry-strategy.js'

export interface RegionOptions {
  /** If absent, the SDK's own search applies (AWS_REGION, the profile). */
  readonly region?: string | undefined
  readonly endpoint?: string | undefined
  /** Concurrent requests. The ring asks for no more signatures, so at most probes of keys wait for a socket. */
  readonly concurrency: number
  readonly services: SignerServices
}

/** One request to KMS. `subject` is its name in error messages. */
export interface KmsCall<T> {
  readonly subject: Omit<KmsQuestion, 'region'>
  readonly signal: AbortSignal
  readonly milliseconds: number
  readonly send: (client: KMSClient, abortSignal: AbortSignal) => Promise<T>
}

/** KMS in one region. */
export interface KmsRegion {
  /** Throws `KeyRefused` when nothing says which region it is. */
  name(): Promise<string>
  /**
   * Makes a request with the retries that the SDK allows, until the deadline. Throws `Unavailable`, `KeyRefused`, or
   * the signal's reason.
   */
  call<T>(call: KmsCall<T>): Promise<T>
  /** Like `call`, but repeats only what KMS has turned away, for requests that must not happen twice. */
  callOnce<T>(call: KmsCall<T>): Promise<T>
  /** Records that it did not answer. It is then tried after the others for a while. */
  coolDown(): void
  isCoolingDown(): boolean
  close(): void
}

/** The fraction of a call's time that one attempt may take, so that a second attempt fits after a dead connection. */
const attemptShare = 0.6
/** Milliseconds. */
const cooldownMs = 10_000
const quiet = { trace: () => {}, debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }

export const openKmsRegion = (options: RegionOptions, deadlineMs: number): KmsRegion => {
  const { region, endpoint, concurrency, services } = options
  // The SDK's region is not known yet, so NO_PROXY must exclude the whole domain.
  const address = endpoint ?? `https://kms.${region ?? process.env['AWS_REGION'] ?? 'region'}.amazonaws.com`
  const newClient = (strategy: typeof retryStrategy): KMSClient =>
    new KMSClient({
      ...(region !== undefined && { region }),
      ...(endpoint !== undefined && { endpoint }),
      retryStrategy: strategy,
      requestHandler: {
        httpAgent: { maxSockets: concurrency },
        httpsAgent: createProxyAgent(address, deadlineMs, { keepAlive: true, maxSockets: concurrency }) ?? {
          maxSockets: concurrency,
        },
        // A request that is not repeated has the whole time. Without the second option the SDK only warns.
        ...(strategy === retryStrategy && {
          requestTimeout: Math.ceil(deadlineMs * attemptShare),
          throwOnRequestTimeout: true,
        }),
        logger: quiet,
      },
      logger: quiet,
    })
  const client = newClient(retryStrategy)
  const single = newClient(onceStrategy)
  let cooldownUntil = 0

  const name = async (): Promise<string> => {
    try {
      return await client.config.region()
    } catch (cause) {
      throw new KeyRefused('no AWS region is known: set the option region, or AWS_REGION', { cause })
    }
  }
  const ask = async <T>(by: KMSClient, { subject, signal, milliseconds, send }: KmsCall<T>): Promise<T> => {
    signal.throwIfAborted()
    const question = { ...subject, region: region ?? (await name()) }
    try {
      return await withDeadline(
        milliseconds,
        // A search for credentials does not stop when it is aborted.
        (abortSignal) => send(by, abortSignal),
        () => timedOut,
        signal,
      )
    } catch (error) {
      signal.throwIfAborted()
      throw error === timedOut ? kmsTimeout(question, milliseconds) : kmsError(error, question)
    }
  }
  return {
    name,
    call: (call) => ask(client, call),
    callOnce: (call) => ask(single, call),
    coolDown() {
      cooldownUntil = services.clock() + cooldownMs
    },
    isCoolingDown: () => services.clock() < cooldownUntil,
    close() {
      client.destroy()
      single.destroy()
    },
  }
}

const timedOut = new Error('The deadline has passed.')
