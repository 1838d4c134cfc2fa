import { CreateKeyCommand, DisableKeyCommand, ScheduleKeyDeletionCommand } from '@aws-sdk/client-kms'
import { KeyRefused, Unavailable, type BackendKey, type JwsAlg, type KeyTags } from '../../core/api/signer.js'
import { describeKey, isNotFound, nameKey } from './key-calls.js'
import { accountOf, aliasOf, isKeyName, keyReference } from './key-reference.js'
import { replicateKey } from './key-replicas.js'
import { findTaggedKeys, listAliases } from './key-scan.js'
import { kmsAlgorithms } from './key-specs.js'
import { kmsTags, readTags } from './key-tags.js'
import { component, nameOfCause } from './kms-errors.js'
import type { KmsRegion } from './kms-region.js'
import type { Regions } from './open-kms-signer.js'
import { idOf, type CallLimits } from './pinned-key.js'

export interface NewKey {
  readonly alias: string
  readonly alg: JwsAlg
  readonly tags: KeyTags | undefined
}

/** States of keys that cannot sign before an operator acts (developer guide, "Key states of AWS KMS keys"). */
const unusable: ReadonlySet<string | undefined> = new Set([
  'Disabled',
  'PendingDeletion',
  'PendingReplicaDeletion',
  'PendingImport',
])
const deleted: ReadonlySet<string | undefined> = new Set(['PendingDeletion', 'PendingReplicaDeletion'])

/**
 * Makes a key with its tags, and then gives it its alias and its replicas; `made` gets its ARN in between. Throws as
 * `create` does.
 */
export const createKey = async (
  [region, ...others]: Regions,
  { alias, alg, tags }: NewKey,
  limits: CallLimits,
  made: (arn: string) => void,
): Promise<string> => {
  if ((await describeKey(region, alias, limits)) !== undefined) throw new KeyRefused(`${alias} already exists`)
  const { KeyMetadata } = await region.callOnce({
    subject: { action: 'CreateKey', ref: alias },
    ...limits,
    send: (client, abortSignal) =>
      client.send(
        new CreateKeyCommand({
          KeySpec: kmsAlgorithms[alg].keySpecs[0],
          KeyUsage: 'SIGN_VERIFY',
          Description: `Signet ${alg}`,
          MultiRegion: others.length > 0,
          ...(tags !== undefined && { Tags: kmsTags(tags) }),
        }),
        { abortSignal },
      ),
  })
  const arn = KeyMetadata?.Arn
  if (arn === undefined) throw new Unavailable(component, 'unknown', 'KMS created a key but did not return its ARN.')
  made(arn)
  await unlessMissing(`The key ${arn} was created, but its alias was not.`, () => nameKey(region, alias, arn, limits))
  await unlessMissing(`The key ${arn} was created, but not all of its replicas were.`, () =>
    replicateKey([region, ...others], { arn, alias, tags }, limits),
  )
  return arn
}

/** For what a key lacks that was created: a refusal would say that there is no key. */
const unlessMissing = async (what: string, complete: () => Promise<void>): Promise<void> => {
  try {
    await complete()
  } catch (error) {
    if (!(error instanceof KeyRefused || error instanceof Unavailable)) throw error
    throw new Unavailable(component, 'unknown', `${what} ${error.message}`, { cause: error })
  }
}

/**
 * The keys with this alias, or, when there is none, with these tags, ordered by ARN; the first of them gets the alias.
 * With `tags` the key also gets the replicas that it lacks. `name` may also be an ARN or id. Throws as `find` does.
 */
export const findKeys = async (
  regions: Regions,
  name: string,
  tags: KeyTags | undefined,
  limits: CallLimits,
): Promise<readonly string[]> => {
  const [region] = regions
  const ref = isKeyName(name) ? name : aliasOf(name)
  const named = await describeKey(region, ref, limits)
  if (named?.Arn !== undefined) {
    if (unusable.has(named.KeyState))
      throw new KeyRefused(
        `${ref} names the key ${named.Arn}, which is ${String(named.KeyState)}: bring it back, or remove the alias`,
      )
    if (tags !== undefined) await replicateKey(regions, { arn: named.Arn, alias: ref, tags }, limits)
    return [named.Arn]
  }
  if (tags === undefined) return []
  const tagged = await findTaggedKeys(region, tags, limits)
  const states = await Promise.all(
    tagged.map(async ({ arn }) => ({ arn, state: (await describeKey(region, arn, limits))?.KeyState })),
  )
  const found = states.filter(({ state }) => !unusable.has(state)).map(({ arn }) => arn)
  const [arn] = found
  if (arn === undefined) return []
  await nameKey(region, ref, arn, limits)
  await replicateKey(regions, { arn, alias: ref, tags }, limits)
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
      const disabled = unusable.has((await describeKey(region, arn, limits))?.KeyState)
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
  const metadata = await describeKey(region, ref, limits)
  if (metadata?.Arn === undefined) throw new KeyRefused(`KMS has no key ${ref}`)
  const { Arn: arn, Origin: origin = 'unknown', KeySpec, KeyUsage, MultiRegion = false } = metadata
  if (origin !== 'AWS_KMS' && origin !== 'AWS_CLOUDHSM')
    throw new KeyRefused(`${arn} has the origin ${origin}: it was not made in KMS, so it may exist elsewhere`)
  if (KeyUsage !== 'SIGN_VERIFY') throw new KeyRefused(`${arn} has the usage ${String(KeyUsage)}, not SIGN_VERIFY`)
  return {
    key: arn,
    account: accountOf(arn),
    origin,
    key_spec: String(KeySpec),
    key_usage: KeyUsage,
    multi_region: MultiRegion,
  }
}

/** Makes the key unusable in each region. A key that is gone, or will be, stays so. Throws like `KmsRegion.call`. */
export const disableKey = (regions: Regions, arn: string, limits: CallLimits): Promise<void> =>
  inEachRegion(regions, arn, (region, ref) =>
    unlessDeleted(region, ref, limits, () =>
      region.call({
        subject: { action: 'DisableKey', ref },
        ...limits,
        send: (client, abortSignal) => client.send(new DisableKeyCommand({ KeyId: ref }), { abortSignal }),
      }),
    ),
  )

/** Schedules the deletion after the 30 days that KMS waits by default. Throws like `KmsRegion.call`. */
export const deleteKey = (regions: Regions, arn: string, limits: CallLimits): Promise<void> =>
  inEachRegion(regions, arn, (region, ref) =>
    unlessDeleted(region, ref, limits, () =>
      region.call({
        subject: { action: 'ScheduleKeyDeletion', ref },
        ...limits,
        send: (client, abortSignal) => client.send(new ScheduleKeyDeletionCommand({ KeyId: ref }), { abortSignal }),
      }),
    ),
  )

const inEachRegion = async (
  regions: Regions,
  arn: string,
  change: (region: KmsRegion, ref: string) => Promise<void>,
): Promise<void> => {
  const first = await regions[0].name()
  for (const region of regions) await change(region, keyReference(arn, first, await region.name()))
}

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
    if (!isState || !deleted.has((await describeKey(region, ref, limits))?.KeyState)) throw error
  }
}
