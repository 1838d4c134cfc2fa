import { collections } from '../collections/collections.js'
import type { Config } from '../../config/schema.js'
import type { OperatorIdentity } from '../operators/operator.js'
import { newOperatorToken, type OperatorToken } from '../operators/operator-tokens.js'
import { reservedNames } from '../operators/operator-record.js'
import { permissionsOf, rolesOf } from '../operators/permissions.js'
import type { JsonObject } from '../json.js'
import { neededApprovals, requireApproval } from './require-approval.js'
import { change, listAll, type Administration, type Deployment, type Operator, type Refusal } from './administration.js'

/** The name of an operator, as the audit log shows it. */
const nameForm = /^[a-z0-9][a-z0-9._@-]{0,63}$/i

export interface NewOperatorTokenInput {
  readonly name: string
  readonly roles: readonly string[]
  /** Seconds. */
  readonly expiresIn: number
}

/** A new token. It is shown only once, because only its hash is stored. */
export interface IssuedOperatorToken {
  readonly id: string
  readonly token: string
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/** `reason` names the role. */
export type RoleRefusal = Refusal<'unknown_role' | 'more_than_own'>

/** Nobody can give a permission that they do not have. */
export const findRoleFault = (
  config: Config,
  { permissions }: Pick<OperatorIdentity, 'permissions'>,
  names: readonly string[],
): RoleRefusal | undefined => {
  const roles = rolesOf(config.operators.roles)
  for (const name of names) {
    if (!roles.has(name)) return { refused: 'unknown_role', reason: `There is no role ${name}.` }
    if ([...permissionsOf(roles, [name])].some((permission) => !permissions.has(permission)))
      return { refused: 'more_than_own', reason: `The role ${name} permits more than your own roles.` }
  }
  return undefined
}

/** Nobody changes an operator who may do more than they. */
export const findRankFault = (
  config: Config,
  { permissions }: Pick<OperatorIdentity, 'permissions'>,
  names: readonly string[],
): RoleRefusal | undefined =>
  [...permissionsOf(rolesOf(config.operators.roles), names)].every((permission) => permissions.has(permission))
    ? undefined
    : { refused: 'more_than_own', reason: 'The operator may do more than you.' }

/**
 * Issues a token with which automation authenticates. `issuer` is the operator who issues it. Throws `Unavailable`.
 */
export const issueOperatorToken = async (
  administration: Administration,
  by: Operator,
  { name, roles, expiresIn, issuer }: NewOperatorTokenInput & { readonly issuer: OperatorIdentity },
): Promise<IssuedOperatorToken | RoleRefusal | Refusal<'name'>> => {
  const { config, clock } = administration
  if (!nameForm.test(name) || reservedNames.has(name)) return { refused: 'name' }
  const fault = findRoleFault(config, issuer, roles)
  if (fault !== undefined) return fault
  const issuedAt = clock()
  const expiresAt = issuedAt + expiresIn * 1000
  const { token, record } = newOperatorToken({ name, roles, issuedAt, expiresAt, issuedBy: issuer.name })
  const { id } = record
  await requireApproval(administration, by, {
    ...{ action: 'operator.issue_token', object: `token:${id}`, from: null },
    ...{ to: { record: record as unknown as JsonObject }, secrets: { id, token } },
  })
  await putOperatorToken(administration, by, record)
  return { id, token, expiresAt }
}

/** Stores the record of a token. Throws `Unavailable`. */
export const putOperatorToken = (
  administration: Administration,
  by: Operator,
  record: OperatorToken,
): Promise<{ readonly id: string } | Refusal<'exists'>> => {
  const { id, name, roles, expiresAt } = record
  const { stores, clock } = administration
  const ttlSeconds = Math.max(1, Math.ceil((expiresAt - clock()) / 1000))
  const what = { action: 'operator.issue_token', operator: name, roles, credential: id }
  return change(administration, by, what, async () => {
    const isNew = await collections(stores).operatorTokens.put(id, record, { ttlSeconds, onlyIfAbsent: true })
    return isNew ? { id } : { refused: 'exists' }
  })
}

/** A token as operators see it. */
export type ListedOperatorToken = Omit<OperatorToken, 'sha256'>

/** Lists the tokens that have not expired. Throws `Unavailable`. */
export const listOperatorTokens = async ({ stores }: Deployment): Promise<readonly ListedOperatorToken[]> => {
  const found = await listAll(
    (after) => collections(stores).operatorTokens.list(after, 100),
    ({ id }) => id,
  )
  return found.map(({ record: { sha256: _hash, ...rest } }) => rest)
}

/** Ends a token. Throws `Unavailable`. */
export const revokeOperatorToken = async (
  administration: Administration,
  by: Operator,
  id: string,
): Promise<{ readonly id: string } | Refusal<'unknown'>> => {
  const { operatorTokens } = collections(administration.stores)
  const action = 'operator.revoke_token'
  if (neededApprovals(administration, action) > 0) {
    if ((await operatorTokens.find(id)) === undefined) return { refused: 'unknown' }
    await requireApproval(administration, by, { action, object: `token:${id}`, from: null, to: { id } })
  }
  return change(administration, by, { action, credential: id }, async () =>
    (await operatorTokens.remove(id)) ? { id } : { refused: 'unknown' },
  )
}
