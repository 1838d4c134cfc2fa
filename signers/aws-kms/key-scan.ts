import {
  ListAliasesCommand,
  ListKeysCommand,
  ListResourceTagsCommand,
  type AliasListEntry,
  type KeyListEntry,
  type Tag,
} from '@aws-sdk/client-kms'
import { KeyRefused, type KeyTags } from '../../core/api/signer.js'
import { nameOfCause } from './kms-errors.js'
import { hasTags } from './key-tags.js'
import type { KmsRegion } from './kms-region.js'
import type { CallLimits } from './pinned-key.js'

/** Concurrent calls of `ListResourceTags`, which KMS has no list of keys with tags for. */
const scanWidth = 16
/** The largest pages (API reference, `ListKeys`, `ListAliases`). */
const pageOf = { keys: 1000, aliases: 100 } as const

interface Page<T> {
  readonly items: readonly T[] | undefined
  readonly next: string | undefined
}

const allPages = async <T>(ask: (Marker: string | undefined) => Promise<Page<T>>): Promise<T[]> => {
  const all: T[] = []
  for (let marker: string | undefined; ;) {
    const { items = [], next } = await ask(marker)
    all.push(...items)
    if (next === undefined) return all
    marker = next
  }
}

const listKeys = (region: KmsRegion, limits: CallLimits): Promise<KeyListEntry[]> =>
  allPages((Marker) =>
    region.call({
      subject: { action: 'ListKeys', ref: 'the account' },
      ...limits,
      async send(client, abortSignal) {
        const { Keys, NextMarker } = await client.send(new ListKeysCommand({ Limit: pageOf.keys, Marker }), {
          abortSignal,
        })
        return { items: Keys, next: NextMarker }
      },
    }),
  )

const listTags = (region: KmsRegion, arn: string, limits: CallLimits): Promise<Tag[]> =>
  allPages((Marker) =>
    region.call({
      subject: { action: 'ListResourceTags', ref: arn },
      ...limits,
      async send(client, abortSignal) {
        const { Tags, NextMarker } = await client.send(new ListResourceTagsCommand({ KeyId: arn, Marker }), {
          abortSignal,
        })
        return { items: Tags, next: NextMarker }
      },
    }),
  )

export interface TaggedKey {
  readonly arn: string
  readonly tags: readonly Tag[]
}

/**
 * The keys of the account and region whose tags include all of `wanted`, ordered by ARN. Keys whose tags these
 * credentials may not read are not ours, unless they may read none. Throws like `KmsRegion.call`.
 */
export const findTaggedKeys = async (
  region: KmsRegion,
  wanted: Partial<KeyTags>,
  limits: CallLimits,
): Promise<readonly TaggedKey[]> => {
  const keys = await listKeys(region, limits)
  const found: TaggedKey[] = []
  let readable = 0
  let refusal: KeyRefused | undefined
  const read = async (arn: string): Promise<void> => {
    try {
      const tags = await listTags(region, arn, limits)
      readable++
      if (hasTags(tags, wanted)) found.push({ arn, tags })
    } catch (error) {
      const name = error instanceof KeyRefused ? nameOfCause(error) : ''
      // It has been deleted since, or is so new that KMS does not show it everywhere yet.
      if (name === 'NotFoundException') return
      if (name !== 'AccessDeniedException') throw error
      refusal ??= error as KeyRefused
    }
  }
  const rest = keys.values()
  const take = async (): Promise<void> => {
    for (const { KeyArn } of rest) if (KeyArn !== undefined) await read(KeyArn)
  }
  await Promise.all(Array.from({ length: scanWidth }, take))
  if (readable === 0 && refusal !== undefined) throw refusal
  return found.toSorted((a, b) => (a.arn < b.arn ? -1 : 1))
}

/** The names of keys by their ids, without `alias/`. Throws like `KmsRegion.call`. */
export const listAliases = async (region: KmsRegion, limits: CallLimits): Promise<ReadonlyMap<string, string>> => {
  const all = await allPages<AliasListEntry>((Marker) =>
    region.call({
      subject: { action: 'ListAliases', ref: 'the account' },
      ...limits,
      async send(client, abortSignal) {
        const { Aliases, NextMarker } = await client.send(new ListAliasesCommand({ Limit: pageOf.aliases, Marker }), {
          abortSignal,
        })
        return { items: Aliases, next: NextMarker }
      },
    }),
  )
  return new Map(
    all.flatMap(({ TargetKeyId, AliasName }) =>
      TargetKeyId === undefined || AliasName === undefined ? [] : [[TargetKeyId, AliasName.replace(/^alias\//, '')]],
    ),
  )
}
