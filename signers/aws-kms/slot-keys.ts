import {
  CreateAliasCommand,
  CreateKeyCommand,
  DescribeKeyCommand,
  DisableKeyCommand,
  ScheduleKeyDeletionCommand,
  type KeyMetadata,
} from '@aws-sdk/client-kms'
import { setTimeout as delay } from 'node:timers/promises'
import { KeyRefused, Unavailable, type BackendKey, type JwsAlg, type KeyTags } from '../../core/api/signer.js'
import { aliasOf, isKeyName } from './key-reference.js'
import { findTaggedKeys, listAliases } from './key-scan.js'
import { kmsAlgorithms } from './key-specs.js'
import { kmsTags, readTags } from './key-tags.js'
import { component, nameOfCause } from './kms-errors.js'
import type { KmsRegion } from './kms-region.js'
import { idOf, type CallLimits } from './pinned-key.js'

/** Milliseconds. KMS takes seconds to show a new key everywhere (developer guide, "Eventual consistency"). */
const pauses = [100, 200, 400, 800, 1600, 3200] as const

const isNotFound = (error: unknown): boolean =>
  error instanceof KeyRefused && nameOfCause(error) === 'NotFoundException'

/** Repeats what KMS refuses because it does not know a new key yet. Throws `Unavailable` when it still does not. */
export const patiently = async <T>(signal: AbortSignal, ask: () => Promise<T>): Promise<T> => {
  for (const pause of pauses)
    try {
      return await ask()
    } catch (error) {
      if (!isNotFound(error)) throw error
      await delay(pause, undefined, { signal }).catch(() => signal.throwIfAborted())
    }
  try {
    return await ask()
  } catch (cause) {
    if (!isNotFound(cause)) throw cause
    throw new Unavailable(component, 'unknown', 'AWS KMS does not show the new key yet.', { cause })
  }
}

/** Undefined when there is no such key. Throws like `KmsRegion.call`. */
const describe = async (region: KmsRegion, ref: string, limits: CallLimits): Promise<KeyMetadata | undefined> => {
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

/** States of keys that cannot sign before an operator acts (developer guide, "Key states of AWS KMS keys"). */
const unusable: ReadonlySet<string | undefined> = new Set([
  'Disabled',
  'PendingDeletion',
  'PendingReplicaDeletion',
  'PendingImport',
])
const deleted: ReadonlySet<string | undefined> = new Set(['PendingDeletion', 'PendingReplicaDeletion'])

/** Gives a new key its alias. Throws like `KmsRegion.call`. */
const nameKey = async (region: KmsRegion, alias: string, arn: string, limits: CallLimits): Promise<void> => {
  await patiently(limits.signal, () =>
    region.callOnce({
      subject: { action: 'CreateAlias', ref: alias },
      ...limits,
      send: (client, abortSignal) =>
        client.send(new CreateAliasCommand({ AliasName: alias, TargetKeyId: arn }), { abortSignal }),
    }),
  )
}

export interface NewKey {
  readonly alias: string
  readonly alg: JwsAlg
  readonly multiRegion: boolean
  readonly tags: KeyTags | undefined
}

/** Makes a key with its tags, and then gives it its alias; `made` gets its ARN in between. Throws as `create` does. */
export const createKey = async (
  region: KmsRegion,
  { alias, alg, multiRegion, tags }: NewKey,
  limits: CallLimits,
  made: (arn: string) => void,
): Promise<string> => {
  if ((await describe(region, alias, limits)) !== undefined) throw new KeyRefused(`${alias} already exists`)
  const { KeyMetadata } = await region.callOnce({
    subject: { action: 'CreateKey', ref: alias },
    ...limits,
    send: (client, abortSignal) =>
      client.send(
        new CreateKeyCommand({
          KeySpec: kmsAlgorithms[alg].keySpecs[0],
          KeyUsage: 'SIGN_VERIFY',
          Description: `Signet ${alg}`,
          MultiRegion: multiRegion,
          ...(tags !== undefined && { Tags: kmsTags(tags) }),
        }),
        { abortSignal },
      ),
  })
  const arn = KeyMetadata?.Arn
  if (arn === undefined) throw new Unavailable(component, 'unknown', 'KMS created a key but did not return its ARN.')
  made(arn)
  try {
    await nameKey(region, alias, arn, limits)
  } catch (error) {
    if (!(error instanceof KeyRefused || error instanceof Unavailable)) throw error
    // A refusal would say that there is no key.
    const message = `The key ${arn} was created, but its alias was not. ${error.message}`
    throw new Unavailable(component, 'unknown', message, { cause: error })
  }
  return arn
}

/**
 * The keys with this alias, or, when there is none, with these tags, ordered by ARN; the first of them gets the alias.
 * `name` may also be an ARN or id. Throws as `find` does.
 */
export const findKeys = async (
  region: KmsRegion,
  name: string,
  tags: KeyTags | undefined,
  limits: CallLimits,
): Promise<readonly string[]> => {
  const ref = isKeyName(name) ? name : aliasOf(name)
  const named = await describe(region, ref, limits)
  if (named?.Arn !== undefined) {
    if (!unusable.has(named.KeyState)) return [named.Arn]
    throw new KeyRefused(
      `${ref} names the key ${named.Arn}, which is ${String(named.KeyState)}: bring it back, or remove the alias`,
    )
  }
  if (tags === undefined) return []
  const tagged = await findTaggedKeys(region, tags, limits)
  const states = await Promise.all(
    tagged.map(async ({ arn }) => ({ arn, state: (await describe(region, arn, limits))?.KeyState })),
  )
  const found = states.filter(({ state }) => !unusable.has(state)).map(({ arn }) => arn)
  if (found[0] !== undefined) await nameKey(region, ref, found[0], limits)
  return found
}

/** The keys with the tag of this deployment, ordered by ARN. Throws like `KmsRegion.call`. */
export const listTagged = async (
  region: KmsRegion,
  deployment: string,
  limits: CallLimits,
): Promise<readonly BackendKey[]> => {
  const tagged = await findTaggedKeys(region, { deployment }, limits)
  const names = await listAliases(region, limits)
  return Promise.all(
    tagged.map(async ({ arn, tags }): Promise<BackendKey> => {
      const name = names.get(idOf(arn))
      const disabled = unusable.has((await describe(region, arn, limits))?.KeyState)
      return { ref: arn, ...(name !== undefined && { name }), tags: readTags(tags), disabled }
    }),
  )
}

/** What KMS says of a key. Throws `KeyRefused` when its material was imported, and like `KmsRegion.call`. */
export const inspectKey = async (
  region: KmsRegion,
  ref: string,
  limits: CallLimits,
): Promise<Readonly<Record<string, string | boolean>>> => {
  const metadata = await describe(region, ref, limits)
  if (metadata?.Arn === undefined) throw new KeyRefused(`KMS has no key ${ref}`)
  const { Arn: arn, Origin: origin = 'unknown', KeySpec, KeyUsage, MultiRegion = false } = metadata
  if (origin !== 'AWS_KMS' && origin !== 'AWS_CLOUDHSM')
    throw new KeyRefused(`${arn} has the origin ${origin}: it was not made in KMS, so it may exist elsewhere`)
  if (KeyUsage !== 'SIGN_VERIFY') throw new KeyRefused(`${arn} has the usage ${String(KeyUsage)}, not SIGN_VERIFY`)
  return { key: arn, origin, key_spec: String(KeySpec), key_usage: KeyUsage, multi_region: MultiRegion }
}

/** Makes the key unusable. A key that is gone, or will be, stays so. Throws like `KmsRegion.call`. */
export const disableKey = (region: KmsRegion, ref: string, limits: CallLimits): Promise<void> =>
  unlessDeleted(region, ref, limits, () =>
    region.call({
      subject: { action: 'DisableKey', ref },
      ...limits,
      send: (client, abortSignal) => client.send(new DisableKeyCommand({ KeyId: ref }), { abortSignal }),
    }),
  )

/** Schedules the deletion after the 30 days that KMS waits by default. Throws like `KmsRegion.call`. */
export const deleteKey = (region: KmsRegion, ref: string, limits: CallLimits): Promise<void> =>
  unlessDeleted(region, ref, limits, () =>
    region.call({
      subject: { action: 'ScheduleKeyDeletion', ref },
      ...limits,
      send: (client, abortSignal) => client.send(new ScheduleKeyDeletionCommand({ KeyId: ref }), { abortSignal }),
    }),
  )

const unlessDeleted = async (
  region: KmsRegion,
  ref: string,
  limits: CallLimits,
  change: () => Promise<unknown>,
): Promise<void> => {
  try {
    await change()
  } catch (error) {
    if (isNotFound(error)) return
    const isState = error instanceof KeyRefused && nameOfCause(error) === 'KMSInvalidStateException'
    if (!isState || !deleted.has((await describe(region, ref, limits))?.KeyState)) throw error
  }
}
