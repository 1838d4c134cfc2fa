import { isRefusal } from '../administration/administration.js'
import { issueOperatorToken, listOperatorTokens, revokeOperatorToken } from '../administration/operators.js'
import { isoTime } from '../clock.js'
import { localOperator } from '../operators/operator.js'
import { administer, readDeployment, withStores, type DeploymentOptions } from './deployment.js'
import { CommandFailed } from './failure.js'
import { print, printFields, printJson } from './output.js'
import { printList } from './table.js'

export interface OperatorOptions extends DeploymentOptions {
  readonly json?: true
}

export interface IssueTokenOptions extends OperatorOptions {
  readonly role: readonly string[]
  readonly days: number
}

/** Implements `signet operators issue`. The token is printed only this once; the store gets its hash. */
export const printNewOperatorToken = async (name: string, options: IssueTokenOptions): Promise<void> => {
  const config = await readDeployment(options)
  const input = { name, roles: options.role, expiresIn: options.days * 86_400, issuer: localOperator }
  const result = await administer(config, (administration, by) => issueOperatorToken(administration, by, input))
  if (isRefusal(result))
    throw new CommandFailed(
      result.reason ?? 'A name has up to 64 letters, digits, and . _ @ -; local and admin.token are taken.',
    )
  const { id, token } = result
  const expires_at = isoTime(result.expiresAt)
  if (options.json) return printJson({ id, name, roles: options.role, token, expires_at })
  printFields({
    ...{ id, token: `${token}  (shown this once: only its hash is kept)` },
    ...{ roles: options.role.join(' '), expires: expires_at },
  })
}

export interface ListOptions extends OperatorOptions {
  readonly tokens?: true
}

/** Implements `signet operators list --tokens`. */
export const printOperatorTokens = async (options: OperatorOptions): Promise<void> => {
  const config = await readDeployment(options)
  const found = await withStores(config, (stores) => listOperatorTokens({ config, stores }))
  const rows = found.map(({ issuedAt, expiresAt, issuedBy, ...rest }) => ({
    ...rest,
    issued_at: isoTime(issuedAt),
    expires_at: isoTime(expiresAt),
    issued_by: issuedBy,
  }))
  if (options.json) return printJson(rows)
  printList(
    'tokens',
    ['ID', 'NAME', 'ROLES', 'EXPIRES', 'ISSUED BY'],
    rows.map(({ id, name, roles, expires_at, issued_by }) => [id, name, roles.join(' '), expires_at, issued_by]),
  )
}

/** Implements `signet operators revoke`. */
export const revokeOperator = async (id: string, options: OperatorOptions): Promise<void> => {
  const config = await readDeployment(options)
  const result = await administer(config, (administration, by) => revokeOperatorToken(administration, by, id))
  if (isRefusal(result)) throw new CommandFailed('There is no token with this id.')
  if (options.json) return printJson({ id, state: 'revoked' })
  print(`Revoked ${id}`)
}
