import { isDeepStrictEqual } from 'node:util'
import { collections } from '../collections/collections.js'
import { configuredOperators } from '../operators/configured.js'
import {
  createOperatorDirectory,
  maxStoredOperators,
  type KnownOperator,
  type OperatorDirectory,
} from '../operators/directory.js'
import type { JsonObject } from '../json.js'
import { neededApprovals, requireApproval } from './require-approval.js'
import type { OperatorIdentity } from '../operators/operator.js'
import {
  credentialId,
  isOperatorName,
  type CredentialEvidence,
  type OperatorCredential,
  type OperatorRecord,
} from '../operators/operator-record.js'
import type { ApprovingCredential } from '../operators/approval.js'
import { change, type Administration, type Deployment, type Operator, type Refusal } from './administration.js'
import { differenceOf } from './difference.js'
import { etagOf } from './etag.js'
import { findRankFault, findRoleFault, type RoleRefusal } from './operators.js'

/** Returns the operators of the configuration and of the store. */
export const operatorDirectory = ({ config, stores }: Deployment): OperatorDirectory =>
  createOperatorDirectory(() => configuredOperators(config.operators.people), collections(stores).operators)

/** A credential as operators see it. */
export type ListedCredential = OperatorCredential & { readonly id: string }

/** An operator as operators see it, with the version for a change on condition that it is still that one. */
export interface ListedOperator extends Omit<KnownOperator, 'credentials'> {
  readonly credentials: readonly ListedCredential[]
  readonly etag: string
}

const listed = (operator: KnownOperator): ListedOperator => ({
  ...operator,
  credentials: operator.credentials.map((credential) => ({ id: credentialId(credential), ...credential })),
  etag: etagOf(operator),
})

/** Lists all operators in the order of their names. Throws `Unavailable`. */
export const listOperators = async (deployment: Deployment): Promise<readonly ListedOperator[]> =>
  (await operatorDirectory(deployment).all()).map(listed)

/** Throws `Unavailable`. */
export const readOperator = async (deployment: Deployment, name: string): Promise<ListedOperator | undefined> => {
  const found = isOperatorName(name) ? await operatorDirectory(deployment).find(name) : undefined
  return found && listed(found)
}

/** A change of an operator. `issuer` makes it; with `ifMatch` the operator must still be that version. */
export interface ChangedOperator {
  readonly name: string
  readonly issuer: OperatorIdentity
  readonly ifMatch?: string | undefined
}

export type OperatorRefusal =
  | RoleRefusal
  | Refusal<
      'unknown' | 'exists' | 'name' | 'configured' | 'changed_meanwhile' | 'too_many' | 'has_credential' | 'empty'
    >

/** Adds an operator to the store, without a credential. Throws `Unavailable`. */
export const addOperator = async (
  administration: Administration,
  by: Operator,
  {
    name,
    roles,
    issuer,
    disabled = false,
  }: ChangedOperator & { readonly roles: readonly string[]; readonly disabled?: boolean },
): Promise<ListedOperator | OperatorRefusal> => {
  const { config, stores } = administration
  if (!isOperatorName(name)) return { refused: 'name' }
  const fault = findRoleFault(config, issuer, roles)
  if (fault !== undefined) return fault
  const { operators } = collections(stores)
  if (config.operators.people.some((person) => person.name === name)) return { refused: 'exists' }
  if ((await operators.list(undefined, maxStoredOperators)).length >= maxStoredOperators) return { refused: 'too_many' }
  const record = { name, roles: [...roles], disabled, credentials: [] }
  if (neededApprovals(administration, 'operator.add') > 0) {
    if ((await operators.find(name)) !== undefined) return { refused: 'exists' }
    const to = { name, roles: [...roles], disabled }
    await requireApproval(administration, by, { action: 'operator.add', object: `operator:${name}`, from: null, to })
  }
  return change(
    administration,
    by,
    { action: 'operator.add', operator: name, after: { roles: [...roles], disabled } },
    async () =>
      (await operators.put(name, record, { onlyIfAbsent: true }))
        ? listed({ ...record, source: 'store' })
        : { refused: 'exists' },
  )
}

/** Leaves out the approvals of a credential, which are long and do not describe it. */
const withoutEvidence = (credential: OperatorCredential): OperatorCredential =>
  'approved' in credential ? plain(credential) : credential

const plain = ({ approved: _approved, ...credential }: ApprovingCredential): ApprovingCredential => credential

const shownRecord = ({ roles, disabled, credentials }: Pick<OperatorRecord, 'roles' | 'disabled' | 'credentials'>) => ({
  ...{ roles: [...roles], disabled },
  credentials: credentials.map((credential) => ({
    id: credentialId(credential),
    ...withoutEvidence(credential),
  })) as unknown as JsonObject[],
})

/** Changes the record of an operator in one step. */
const alterOperator = async (
  administration: Administration,
  by: Operator,
  { action, name, ifMatch }: Pick<ChangedOperator, 'name' | 'ifMatch'> & { readonly action: string },
  alter: (before: KnownOperator, stored: OperatorRecord) => OperatorRecord | OperatorRefusal,
): Promise<ListedOperator | OperatorRefusal> => {
  const { operators } = collections(administration.stores)
  const directory = operatorDirectory(administration)
  const prepare = async () => {
    const before = isOperatorName(name) ? await directory.find(name) : undefined
    if (before === undefined) return { refused: 'unknown' as const }
    if (ifMatch !== undefined && etagOf(before) !== ifMatch) return { refused: 'changed_meanwhile' as const }
    const stored = await operators.find(name)
    const after = alter(before, stored ?? { name, roles: [], disabled: false, credentials: [] })
    return 'refused' in after ? after : { before, stored, after }
  }
  if (neededApprovals(administration, action) > 0) {
    const prepared = await prepare()
    if ('refused' in prepared) return prepared
    const credentials = prepared.after.credentials.map(withoutEvidence)
    const to = { record: { ...prepared.after, credentials } as unknown as JsonObject }
    const planned = { action, object: `operator:${name}`, from: etagOf(prepared.before), to }
    await requireApproval(administration, by, planned)
  }
  return change(administration, by, { action, operator: name }, async (note) => {
    const prepared = await prepare()
    if ('refused' in prepared) return prepared
    const { before, stored, after } = prepared
    const isChanged = await operators.update(name, (current) =>
      isDeepStrictEqual(current, stored) ? { result: true, write: { record: after } } : { result: false },
    )
    const now = await directory.find(name)
    if (!isChanged || now === undefined) return { refused: 'changed_meanwhile' }
    note(differenceOf(shownRecord(before), shownRecord(now)))
    return listed(now)
  })
}

/** A record as it was approved, which has no evidence of its credentials. */
interface ApprovedOperator {
  readonly action: string
  readonly record: OperatorRecord
  readonly ifMatch: string
  /** The approval itself, for the credential that it adds. */
  readonly evidence: CredentialEvidence
}

/** Writes a record of an operator that was approved, if the operator is still the version `ifMatch`. */
export const writeApprovedOperator = (
  administration: Administration,
  by: Operator,
  { action, record, ifMatch, evidence }: ApprovedOperator,
): Promise<ListedOperator | OperatorRefusal> =>
  alterOperator(administration, by, { action, name: record.name, ifMatch }, (_before, stored) => {
    const known = new Map(stored.credentials.map((credential) => [credentialId(credential), credential]))
    const credentials = record.credentials.map((credential) => {
      const found = known.get(credentialId(credential))
      return (
        found ??
        (credential.kind === 'passkey' || credential.kind === 'device'
          ? { ...credential, approved: evidence }
          : credential)
      )
    })
    return { ...record, credentials }
  })

/**
 * Changes the roles of an operator of the store, or disables or enables one. An operator of the configuration can be
 * disabled, too. Nobody changes an operator who may do more than they. Throws `Unavailable`.
 */
export const updateOperator = async (
  administration: Administration,
  by: Operator,
  {
    roles,
    disabled,
    issuer,
    ...which
  }: ChangedOperator & { readonly roles?: readonly string[] | undefined; readonly disabled?: boolean | undefined },
): Promise<ListedOperator | OperatorRefusal> => {
  const { config } = administration
  if (roles === undefined && disabled === undefined) return { refused: 'empty' }
  return alterOperator(administration, by, { action: 'operator.update', ...which }, (before, stored) => {
    const fault = findRankFault(config, issuer, before.roles) ?? findRoleFault(config, issuer, roles ?? [])
    if (fault !== undefined) return fault
    if (before.source === 'configuration' && roles !== undefined) return { refused: 'configured' }
    return { ...stored, ...(roles !== undefined && { roles: [...roles] }), ...(disabled !== undefined && { disabled }) }
  })
}

/** Removes an operator from the store; their sessions end. Throws `Unavailable`. */
export const removeOperator = async (
  administration: Administration,
  by: Operator,
  { name, issuer, ifMatch }: ChangedOperator,
): Promise<{ readonly name: string } | OperatorRefusal> => {
  const { config, stores } = administration
  if (config.operators.people.some((person) => person.name === name)) return { refused: 'configured' }
  const { operators } = collections(stores)
  if (neededApprovals(administration, 'operator.remove') > 0) {
    const found = isOperatorName(name) ? await operators.find(name) : undefined
    if (found === undefined) return { refused: 'unknown' }
    const from = etagOf({ ...found, source: 'store' })
    if (ifMatch !== undefined && from !== ifMatch) return { refused: 'changed_meanwhile' }
    const fault = findRankFault(config, issuer, found.roles)
    if (fault !== undefined) return fault
    await requireApproval(administration, by, {
      action: 'operator.remove',
      object: `operator:${name}`,
      from,
      to: { name },
    })
  }
  return change(administration, by, { action: 'operator.remove', operator: name }, async (note) => {
    const found = isOperatorName(name) ? await operators.find(name) : undefined
    if (found === undefined) return { refused: 'unknown' }
    if (ifMatch !== undefined && etagOf({ ...found, source: 'store' }) !== ifMatch)
      return { refused: 'changed_meanwhile' }
    const fault = findRankFault(config, issuer, found.roles)
    if (fault !== undefined) return fault
    const isRemoved = await operators.update(name, (current) =>
      isDeepStrictEqual(current, found) ? { result: true, write: null } : { result: false },
    )
    if (!isRemoved) return { refused: 'changed_meanwhile' }
    note({ before: shownRecord(found) })
    return { name }
  })
}

/** Credentials of one operator. */
const maxCredentials = 20

/** Adds a credential to an operator. Throws `Unavailable`. */
export const addCredential = async (
  administration: Administration,
  by: Operator,
  { credential, issuer, ...which }: ChangedOperator & { readonly credential: OperatorCredential },
): Promise<ListedOperator | OperatorRefusal> => {
  const taken = await operatorDirectory(administration).findBy(
    (other) => credentialId(other) === credentialId(credential),
  )
  if (taken !== undefined) return { refused: 'has_credential' }
  return alterOperator(administration, by, { action: 'operator.add_credential', ...which }, (before, stored) => {
    const isOwn = issuer.name === before.name
    const fault = isOwn ? undefined : findRankFault(administration.config, issuer, before.roles)
    if (fault !== undefined) return fault
    if (before.credentials.length >= maxCredentials) return { refused: 'too_many' }
    return { ...stored, credentials: [...stored.credentials, credential] }
  })
}

/** Removes a credential of the store; sessions that it opened end. Throws `Unavailable`. */
export const removeCredential = async (
  administration: Administration,
  by: Operator,
  { id, issuer, ...which }: ChangedOperator & { readonly id: string },
): Promise<ListedOperator | OperatorRefusal> =>
  alterOperator(administration, by, { action: 'operator.remove_credential', ...which }, (before, stored) => {
    const isOwn = issuer.name === before.name
    const fault = isOwn ? undefined : findRankFault(administration.config, issuer, before.roles)
    if (fault !== undefined) return fault
    if (!before.credentials.some((credential) => credentialId(credential) === id)) return { refused: 'unknown' }
    const left = stored.credentials.filter((credential) => credentialId(credential) !== id)
    return left.length === stored.credentials.length ? { refused: 'configured' } : { ...stored, credentials: left }
  })
