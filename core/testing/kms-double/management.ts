import type { ActionCall, Body } from './action-call.js'
import type { DoubleKey, Tag } from './keys.js'
import { KmsErrorReply } from './kms-error.js'

/** One page of a listing, as `Limit` and `Marker` ask for it; KMS has other defaults and limits for each action. */
const page = <T>(
  all: readonly T[],
  { body, most }: ActionCall,
  defaults: number,
): { items: readonly T[]; rest: Body } => {
  const { Limit: asked = defaults, Marker: marker } = body
  const start = marker === undefined ? 0 : Number(marker)
  if (!Number.isSafeInteger(start) || start < 1 === (marker !== undefined))
    throw new KmsErrorReply('InvalidMarkerException', 'The marker is not valid.')
  if (typeof asked !== 'number' || asked < 1 || asked > 1000)
    throw new KmsErrorReply('ValidationException', "Value at 'limit' failed to satisfy constraint")
  const end = start + Math.min(asked, most)
  const truncated = end < all.length
  return { items: all.slice(start, end), rest: { Truncated: truncated, ...(truncated && { NextMarker: String(end) }) } }
}

/** API reference, `Tag`; developer guide, "Tags in AWS KMS": at most 50, each name once, none of AWS's own. */
export const checkTags = (given: unknown): readonly Tag[] => {
  const tags = (given ?? []) as readonly Tag[]
  const names = new Set(tags.map(({ TagKey }) => TagKey))
  const isValid = ({ TagKey, TagValue }: Tag): boolean =>
    /^[\p{L}\p{N}\s+\-=._:/@]{1,128}$/u.test(TagKey) &&
    /^[\p{L}\p{N}\s+\-=._:/@]{0,256}$/u.test(TagValue) &&
    !TagKey.startsWith('aws:')
  if (tags.length > 50 || names.size !== tags.length || !tags.every(isValid))
    throw new KmsErrorReply('TagException', 'The request was rejected because one or more tags are not valid.')
  return tags
}

const present = (key: DoubleKey | undefined): DoubleKey => {
  if (key === undefined)
    throw new KmsErrorReply('ValidationException', "Value null at 'keyId' failed to satisfy constraint")
  return key
}

/** DisableKey and ScheduleKeyDeletion refuse a key that is to be deleted ("Key states of AWS KMS keys"). */
const changeable = (key: DoubleKey | undefined): DoubleKey => {
  const { arn, state } = present(key)
  if (state === 'PendingDeletion' || state === 'PendingReplicaDeletion')
    throw new KmsErrorReply('KMSInvalidStateException', `${arn} is pending deletion.`)
  return present(key)
}

const dayMs = 86_400_000

/** The documented behaviour of the actions that list, name and remove keys. */
export const management: Readonly<Record<string, (call: ActionCall) => Body>> = {
  CreateAlias({ keys, region, body }) {
    const name = String(body['AliasName'])
    if (!/^alias\/[\w/-]{1,250}$/.test(name) || name.startsWith('alias/aws/'))
      throw new KmsErrorReply(
        'InvalidAliasNameException',
        'Alias must start with the prefix "alias/" and not "alias/aws/"',
      )
    const { arn, state } = keys.get(region, String(body['TargetKeyId']))
    if (state === 'Creating') throw new KmsErrorReply('KMSInvalidStateException', `${arn} is creating.`)
    keys.alias(region, name, arn)
    return {}
  },

  ListAliases(call) {
    const { items, rest } = page(call.keys.aliasesOf(call.region), call, 50)
    const Aliases = items.map(([AliasArn, target]) => ({
      AliasArn,
      AliasName: AliasArn.split(':').at(-1),
      TargetKeyId: target.split('/').at(-1),
    }))
    return { Aliases, ...rest }
  },

  ListKeys(call) {
    const { items, rest } = page(call.keys.visibleIn(call.region), call, 100)
    return { Keys: items.map(({ arn, keyId }) => ({ KeyArn: arn, KeyId: keyId })), ...rest }
  },

  ListResourceTags(call) {
    const { items, rest } = page(present(call.key).tags, call, 50)
    return { Tags: items, ...rest }
  },

  DisableKey({ key }) {
    changeable(key).state = 'Disabled'
    return {}
  },

  ScheduleKeyDeletion({ keys, key, body }) {
    const days = body['PendingWindowInDays'] ?? 30
    if (typeof days !== 'number' || days < 7 || days > 30)
      throw new KmsErrorReply('ValidationException', "Value at 'pendingWindowInDays' failed to satisfy constraint")
    const scheduled = changeable(key)
    const isWaiting = keys.hasReplicas(scheduled)
    scheduled.state = isWaiting ? 'PendingReplicaDeletion' : 'PendingDeletion'
    const DeletionDate = (Date.now() + days * dayMs) / 1000
    const { arn, state } = scheduled
    return { KeyId: arn, KeyState: state, PendingWindowInDays: days, ...(!isWaiting && { DeletionDate }) }
  },
}
