import { CreateAliasCommand, DescribeKeyCommand, type KeyMetadata } from '@aws-sdk/client-kms'
import { setTimeout as delay } from 'node:timers/promises'
import { KeyRefused, Unavailable } from '../../core/api/signer.js'
import { component, nameOfCause } from './kms-errors.js'
import type { KmsRegion } from './kms-region.js'
import type { CallLimits } from './pinned-key.js'

/** Milliseconds. KMS takes seconds to show a new key everywhere (developer guide, "Eventual consistency"). */
const pauses = [100, 200, 400, 800, 1600, 3200] as const

/** Thrown by what `patiently` repeats, for a key that KMS shows and is still creating. */
export const stillCreating = new Error('KMS is still creating the key.')

export const isNotFound = (error: unknown): boolean =>
  error instanceof KeyRefused && nameOfCause(error) === 'NotFoundException'

/** Repeats what fails because KMS does not know a new key yet. Throws `Unavailable` when it still does not. */
export const patiently = async <T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> => {
  const isPassing = (error: unknown): boolean => error === stillCreating || isNotFound(error)
  for (const pause of pauses)
    try {
      return await ask()
    } catch (error) {
      if (!isPassing(error)) throw error
      await delay(pause, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  try {
    return await ask()
  } catch (cause) {
    if (!isPassing(cause)) throw cause
    throw new Unavailable(component, 'unknown', 'AWS KMS does not show the new key yet.', { cause })
  }
}

/** Undefined when there is no such key. Throws like `KmsRegion.call`. */
export const describeKey = async (
  region: KmsRegion,
  ref: string,
  limits: CallLimits,
): Promise<KeyMetadata | undefined> => {
  try {
    const { KeyMetadata } = await region.call({
      subject: { action: 'DescribeKey', ref },
      ...limits,
      send: (client, abortSignal) => client.send(new DescribeKeyCommand({ KeyId: ref }), { abortSignal }),
    })
    return KeyMetadata
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** Gives a new key its alias. Throws like `KmsRegion.call`. */
export const nameKey = async (region: KmsRegion, alias: string, arn: string, limits: CallLimits): Promise<void> => {
  await patiently(limits.signal, () =>
    region.callOnce({
      subject: { action: 'CreateAlias', ref: alias },
      ...limits,
      send: (client, abortSignal) =>
        client.send(new CreateAliasCommand({ AliasName: alias, TargetKeyId: arn }), { abortSignal }),
    }),
  )
}
