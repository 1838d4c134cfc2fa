import type { Problem } from '../../config/problems.js'
import type { CheckedConfiguration } from '../checks/check-configuration.js'
import { isObject, type JsonObject, type JsonValue } from '../json.js'
import type { Client } from '../oauth/clients/client.js'
import { toMetadata } from '../oauth/clients/client-metadata.js'
import { isOperatorName } from '../operators/operator-record.js'
import type { Administration, Deployment } from './administration.js'
import { normalizeMetadata } from './client-metadata.js'
import { isConfigured, listClients, readClient } from './clients.js'
import { differenceOf } from './difference.js'
import { listOperators, readOperator } from './operator-people.js'

/** The objects that files can describe: those that operators keep in the store. */
export const desiredKinds = ['client', 'operator'] as const

export type DesiredKind = (typeof desiredKinds)[number]

/** An object as a file describes it, or as it is in the store. Secrets are no part of it. */
export interface DesiredObject {
  readonly kind: DesiredKind
  readonly id: string
  readonly settings: JsonObject
}

/** One difference between the files and the store. */
export interface PlannedStep {
  /** `unmanaged`: it has no file, and stays. */
  readonly action: 'create' | 'update' | 'remove' | 'unmanaged'
  readonly kind: DesiredKind
  readonly id: string
  /** The members that differ. */
  readonly before: JsonObject
  readonly after: JsonObject
  /** The version that was compared; absent for what does not exist. */
  readonly etag?: string
}

/** Files that describe something which cannot be, with the place of each problem. */
export interface InvalidObjects {
  readonly refused: 'invalid'
  readonly problems: readonly Problem[]
}

/** Members of the record of a client that are its state, not its settings. */
const stateMembers: readonly string[] = [
  'client_id',
  'source',
  'client_secret_expires_at',
  'previous_client_secret_expires_at',
]

const settingsOf = (metadata: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(metadata).filter(([name, value]) => !stateMembers.includes(name) && value !== undefined),
  )

const clientObject = (client: Client): DesiredObject => {
  const { disabled = false, ...settings } = settingsOf(toMetadata(client))
  return { kind: 'client', id: client.client_id, settings: { ...settings, ...(disabled === true && { disabled }) } }
}

interface Existing extends DesiredObject {
  readonly etag: string
}

const readExisting = async (
  deployment: Deployment,
  kind: DesiredKind,
  id: string,
): Promise<Existing | 'elsewhere' | undefined> => {
  if (kind === 'operator') {
    const found = await readOperator(deployment, id)
    if (found === undefined) return undefined
    if (found.source === 'configuration') return 'elsewhere'
    const { roles, disabled, etag } = found
    return { kind, id, settings: { roles: [...roles], disabled }, etag }
  }
  const found = await readClient(deployment, id)
  if (found === undefined) return undefined
  if (found.client.source !== 'store') return 'elsewhere'
  return { ...clientObject(found.client), etag: found.etag }
}

/** Lists what the store has and files can describe. Clients that registered themselves change themselves. */
export const listDesirable = async (deployment: Deployment): Promise<readonly DesiredObject[]> => {
  const clients = (await listClients(deployment)).filter(({ source }) => source === 'store')
  const operators = (await listOperators(deployment)).filter(({ source }) => source === 'store')
  return [
    ...clients.map(clientObject),
    ...operators.map(({ name, roles, disabled }) => ({
      ...{ kind: 'operator' as const, id: name, settings: { roles: [...roles], disabled } },
    })),
  ]
}

const withoutKind = (written: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(written).filter(([name]) => name !== 'kind'))

type Read = DesiredObject | readonly Problem[]

const readClientObject = async (checked: CheckedConfiguration, written: JsonObject): Promise<Read> => {
  const metadata = withoutKind(written)
  const { client_id: id } = metadata
  if (typeof id !== 'string') return [{ path: 'client_id', message: 'must be the id of the client' }]
  const secret = ['client_secret', 'registration'].find((name) => name in metadata)
  if (secret !== undefined) return [{ path: secret, message: 'is no setting: files have no secrets' }]
  if (isConfigured(checked.config, id))
    return [{ path: 'client_id', message: 'is a client of the configuration, which alone changes it' }]
  const normal = await normalizeMetadata(checked, metadata)
  return 'refused' in normal ? normal.problems : clientObject(normal.client)
}

const readOperatorObject = ({ config }: CheckedConfiguration, written: JsonObject): Read => {
  const { name, roles, disabled = false, ...others } = withoutKind(written)
  const unknown = Object.keys(others).map((path) => ({ path, message: 'is no setting of an operator' }))
  if (unknown.length > 0) return unknown
  if (typeof name !== 'string' || !isOperatorName(name))
    return [{ path: 'name', message: 'must be the name of an operator' }]
  const isList = Array.isArray(roles) && roles.every((role: unknown) => typeof role === 'string')
  if (!isList || roles.length === 0) return [{ path: 'roles', message: 'must be a list of roles' }]
  if (typeof disabled !== 'boolean') return [{ path: 'disabled', message: 'must be true or false' }]
  if (config.operators.people.some((person) => person.name === name))
    return [{ path: 'name', message: 'is an operator of the configuration, which alone changes it' }]
  return { kind: 'operator', id: name, settings: { roles: [...(roles as readonly string[])], disabled } }
}

/** Checks objects as files have them. Returns every problem at once, each below the place of its object. */
export const readDesired = async (
  checked: CheckedConfiguration,
  written: ReadonlyMap<string, JsonValue>,
): Promise<readonly DesiredObject[] | InvalidObjects> => {
  const problems: Problem[] = []
  const found = new Map<string, DesiredObject>()
  for (const [place, value] of written) {
    const read: Read = !isObject(value)
      ? [{ path: '', message: 'must be an object' }]
      : value['kind'] === 'client'
        ? await readClientObject(checked, value)
        : value['kind'] === 'operator'
          ? readOperatorObject(checked, value)
          : [{ path: 'kind', message: `must be ${desiredKinds.join(' or ')}` }]
    if (!('kind' in read)) {
      problems.push(...read.map(({ path, message }) => ({ path: path === '' ? place : `${place}: ${path}`, message })))
      continue
    }
    const name = `${read.kind} ${read.id}`
    if (found.has(name)) problems.push({ path: place, message: 'describes an object that another file has, too' })
    found.set(name, read)
  }
  return problems.length > 0 ? { refused: 'invalid', problems } : [...found.values()]
}

/** Compares what files describe with the store. `prune`: what has no file is removed. Throws `Unavailable`. */
export const planDesired = async (
  deployment: Deployment,
  desired: readonly DesiredObject[],
  { prune }: { readonly prune: boolean },
): Promise<readonly PlannedStep[] | InvalidObjects> => {
  const steps: PlannedStep[] = []
  const problems: Problem[] = []
  for (const { kind, id, settings } of desired) {
    const existing = await readExisting(deployment, kind, id)
    if (existing === 'elsewhere') {
      problems.push({ path: `${kind} ${id}`, message: 'is not in the store: it registered itself, or is configured' })
      continue
    }
    const difference = differenceOf(existing?.settings ?? {}, settings)
    if (existing === undefined) steps.push({ action: 'create', kind, id, ...difference })
    else if (Object.keys({ ...difference.before, ...difference.after }).length > 0)
      steps.push({ action: 'update', kind, id, ...difference, etag: existing.etag })
  }
  if (problems.length > 0) return { refused: 'invalid', problems }
  const named = new Set(desired.map(({ kind, id }) => `${kind} ${id}`))
  for (const { kind, id, settings } of await listDesirable(deployment)) {
    if (named.has(`${kind} ${id}`)) continue
    const existing = await readExisting(deployment, kind, id)
    if (existing === undefined || existing === 'elsewhere') continue
    const { etag } = existing
    steps.push({ action: prune ? 'remove' : 'unmanaged', kind, id, before: settings, after: {}, etag })
  }
  return steps
}

export type DesiredParts = Administration & { readonly checked: CheckedConfiguration }
