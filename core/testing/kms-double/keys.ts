import { randomUUID, type KeyObject } from 'node:crypto'
import { generateKey, signingAlgorithms, type DoubleKeySpec } from './key-material.js'
import { KmsErrorReply } from './kms-error.js'

export type KeyState =
  'Enabled' | 'Disabled' | 'PendingDeletion' | 'PendingImport' | 'PendingReplicaDeletion' | 'Unavailable' | 'Creating'

/** As requests have it. */
export interface Tag {
  readonly TagKey: string
  readonly TagValue: string
}

export interface DoubleKey {
  readonly arn: string
  readonly keyId: string
  readonly region: string
  readonly spec: DoubleKeySpec
  readonly usage: string
  readonly multiRegion: boolean
  /** False for a replica of a multi-Region key. */
  readonly primary: boolean
  readonly description: string
  readonly created: number
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
  readonly origin: 'AWS_KMS' | 'EXTERNAL'
  readonly tags: readonly Tag[]
  state: KeyState
  /** Requests that still do not see the key, because it is new. */
  hiddenFor: number
  /** Looks at a new replica until it is ready. */
  creatingFor: number
}

export interface NewKey {
  readonly region: string
  readonly usage?: string | undefined
  readonly state?: KeyState | undefined
  readonly multiRegion?: boolean | undefined
  readonly description?: string | undefined
  readonly origin?: 'AWS_KMS' | 'EXTERNAL' | undefined
  readonly tags?: readonly Tag[] | undefined
}

export const account = '111122223333'

const makeKey = async (spec: DoubleKeySpec, made: NewKey, hiddenFor: number): Promise<DoubleKey> => {
  if (!Object.hasOwn(signingAlgorithms, spec))
    throw new KmsErrorReply('ValidationException', `1 validation error detected: Value '${spec}' at 'keySpec'`)
  const multiRegion = made.multiRegion ?? false
  const keyId = multiRegion ? `mrk-${randomUUID().replaceAll('-', '')}` : randomUUID()
  return {
    ...(await generateKey(spec)),
    arn: `arn:aws:kms:${made.region}:${account}:key/${keyId}`,
    keyId,
    region: made.region,
    spec,
    usage: made.usage ?? 'SIGN_VERIFY',
    multiRegion,
    primary: true,
    description: made.description ?? '',
    created: Date.now() / 1000,
    state: made.state ?? 'Enabled',
    origin: made.origin ?? 'AWS_KMS',
    tags: made.tags ?? [],
    hiddenFor,
    creatingFor: 0,
  }
}

/** Counts one request that would see the key. */
const isVisible = (key: DoubleKey): boolean => {
  if (key.hiddenFor === 0) return true
  key.hiddenFor--
  return false
}

const newAliases = () => {
  const targets = new Map<string, string>()
  const arnOf = (region: string, alias: string): string => `arn:aws:kms:${region}:${account}:${alias}`
  return {
    arnOf,
    target: (arn: string) => targets.get(arn),
    alias(region: string, alias: string, target: string): void {
      const arn = arnOf(region, alias)
      if (targets.has(arn))
        throw new KmsErrorReply('AlreadyExistsException', `An alias with the name ${arn} already exists`)
      targets.set(arn, target)
    },
    moveAlias: (region: string, alias: string, target: string) => void targets.set(arnOf(region, alias), target),
    aliasesOf: (region: string) => [...targets].filter(([arn]) => arn.split(':')[3] === region),
    aliasOf: (key: string) =>
      [...targets]
        .find(([, target]) => target === key)?.[0]
        .split(':')
        .at(-1),
  }
}

/** The keys and aliases of one account in all regions. */
export const newKeyStore = () => {
  const keys = new Map<string, DoubleKey>()
  const { arnOf, target: targetOf, aliasOf, ...aliases } = newAliases()
  let hideNewFor = 0

  const add = (key: DoubleKey): DoubleKey => {
    keys.set(key.arn, key)
    return key
  }
  /** Finds a key by ARN, id, alias or alias ARN, as seen from one region. */
  const get = (region: string, name: string): DoubleKey => {
    if (name.length < 1 || name.length > 2048)
      throw new KmsErrorReply(
        'ValidationException',
        "1 validation error detected: Value at 'keyId' failed to satisfy constraint",
      )
    if (name.startsWith('arn:') && name.split(':')[3] !== region)
      throw new KmsErrorReply('NotFoundException', `Invalid arn ${name.split(':')[3] ?? ''}`)
    const arn = name.startsWith('alias/') ? arnOf(region, name) : name
    const target = /:alias\/|^alias\//.test(arn) ? targetOf(arn) : arn
    if (target === undefined) throw new KmsErrorReply('NotFoundException', `Alias ${arn} is not found.`)
    const found = keys.get(target) ?? keys.get(`arn:aws:kms:${region}:${account}:key/${target}`)
    if (found !== undefined && isVisible(found)) return found
    const wellFormed = /(^|\/)([0-9a-f-]{36}|mrk-[0-9a-f]{32})$/.test(target)
    throw new KmsErrorReply(
      'NotFoundException',
      wellFormed ? `Key 'arn:aws:kms:${region}:${account}:key/${target}' does not exist` : `Invalid keyId '${target}'`,
    )
  }
  return {
    ...aliases,
    create: async (spec: DoubleKeySpec, made: NewKey): Promise<DoubleKey> => add(await makeKey(spec, made, hideNewFor)),
    /** The same key material in another region, with tags of its own (API reference, `ReplicateKey`). */
    replicate(key: DoubleKey, region: string, { state, tags }: Pick<DoubleKey, 'state' | 'tags'>): DoubleKey {
      if (!key.multiRegion || !key.primary)
        throw new KmsErrorReply('UnsupportedOperationException', `${key.arn} is not a multi-Region primary key.`)
      const arn = key.arn.replace(`:${key.region}:`, `:${region}:`)
      if (keys.has(arn)) throw new KmsErrorReply('AlreadyExistsException', `${arn} already exists.`)
      const creatingFor = state === 'Creating' ? 2 : 0
      return add({ ...key, region, arn, tags, state, primary: false, hiddenFor: hideNewFor, creatingFor })
    },
    /** Whether replicas of a primary key are left (developer guide, "Deleting multi-Region keys"). */
    hasReplicas: ({ keyId, primary }: DoubleKey): boolean =>
      primary && [...keys.values()].some((other) => other.keyId === keyId && !other.primary),
    all: () =>
      [...keys.values()].map(({ arn, state, tags }) => ({
        ...{ arn, state },
        tags: Object.fromEntries(tags.map(({ TagKey, TagValue }) => [TagKey, TagValue])),
        alias: aliasOf(arn),
      })),
    /** The keys that a listing shows. */
    visibleIn: (region: string) => [...keys.values()].filter((key) => key.region === region && isVisible(key)),
    /** Hides each key that is made from now on from so many requests. */
    hideNew: (requests: number) => void (hideNewFor = requests),
    get,
    /** Finds a key, or why there is none. One request looks once, because a new key counts it. */
    look(region: string, name: string): { key?: DoubleKey; refusal?: KmsErrorReply } {
      try {
        return { key: get(region, name) }
      } catch (error) {
        return { refusal: error as KmsErrorReply }
      }
    },
    find(region: string, name: string): DoubleKey | undefined {
      try {
        return get(region, name)
      } catch {
        return undefined
      }
    },
  }
}

export type KeyStore = ReturnType<typeof newKeyStore>
