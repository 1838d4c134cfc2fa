import { ReplicateKeyCommand } from '@aws-sdk/client-kms'
import { KeyRefused, type KeyTags } from '../../core/api/signer.js'
import { describeKey, nameKey, patiently, stillCreating } from './key-calls.js'
import { isKeyName, keyReference } from './key-reference.js'
import { kmsTags } from './key-tags.js'
import { nameOfCause } from './kms-errors.js'
import type { KmsRegion } from './kms-region.js'
import type { Regions } from './open-kms-signer.js'
import type { CallLimits } from './pinned-key.js'

export interface KeyToReplicate {
  /** Of the multi-Region key in the first region. */
  readonly arn: string
  /** Replicas do not share aliases and tags (developer guide, "Multi-Region keys in AWS KMS"). */
  readonly alias: string
  readonly tags: KeyTags | undefined
}

/**
 * Gives the key a replica with its tags and alias in each other region. What is there already stays, so that this may
 * be repeated after it was interrupted. Throws like `KmsRegion.call`.
 */
export const replicateKey = async (
  [first, ...others]: Regions,
  key: KeyToReplicate,
  limits: CallLimits,
): Promise<void> => {
  const primary = await first.name()
  // One after the other: KMS allows few of these requests a second, and one failure says which region it is.
  for (const region of others) {
    const name = await region.name()
    const replica = keyReference(key.arn, primary, name)
    if ((await describeKey(region, replica, limits)) === undefined) await replicateTo(name, first, key, limits)
    await patiently(limits.signal, async () => {
      const state = (await describeKey(region, replica, limits))?.KeyState
      if (state === undefined || state === 'Creating') throw stillCreating
    })
    await nameReplica(region, key.alias, replica, limits)
  }
}

/** `ReplicateKey` is a request to the region of the primary key. */
const replicateTo = async (
  region: string,
  first: KmsRegion,
  { arn, tags }: KeyToReplicate,
  limits: CallLimits,
): Promise<void> => {
  try {
    await patiently(limits.signal, () =>
      first.callOnce({
        subject: { action: 'ReplicateKey', ref: arn },
        ...limits,
        send: (client, abortSignal) =>
          client.send(
            new ReplicateKeyCommand({
              KeyId: arn,
              ReplicaRegion: region,
              ...(tags !== undefined && { Tags: kmsTags(tags) }),
            }),
            { abortSignal },
          ),
      }),
    )
  } catch (error) {
    // An earlier request made it, and the region does not show it yet.
    if (!(error instanceof KeyRefused && nameOfCause(error) === 'AlreadyExistsException')) throw error
  }
}

const nameReplica = async (region: KmsRegion, alias: string, replica: string, limits: CallLimits): Promise<void> => {
  if (isKeyName(alias)) return
  const named = (await describeKey(region, alias, limits))?.Arn
  if (named === undefined) return nameKey(region, alias, replica, limits)
  if (named !== replica)
    throw new KeyRefused(`${alias} names the key ${named}, and not ${replica}: remove the alias in that region`)
}
