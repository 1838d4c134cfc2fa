import { collections } from '../collections/collections.js'
import { hashOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import { linkPath, linkSeconds } from '../operators/links.js'
import { isOperatorName } from '../operators/operator-record.js'
import { change, type Administration, type Operator } from './administration.js'
import { operatorDirectory, type ChangedOperator, type OperatorRefusal } from './operator-people.js'
import { findRankFault } from './operators.js'
import { requireApproval } from './require-approval.js'

/**
 * Makes a link that signs an operator in once, within 15 minutes, so that they register a passkey. `path` is below
 * `admin.base_url`. Only commands on the host make one for an operator who has a credential. Throws `Unavailable`.
 */
export const issueOperatorLink = async (
  administration: Administration,
  by: Operator,
  { name, issuer }: ChangedOperator,
): Promise<{ readonly path: string; readonly expiresAt: number } | OperatorRefusal> => {
  const { config, clock } = administration
  const found = isOperatorName(name) ? await operatorDirectory(administration).find(name) : undefined
  if (found === undefined) return { refused: 'unknown' }
  const fault = findRankFault(config, issuer, found.roles)
  if (fault !== undefined) return fault
  if (issuer.proof !== 'local' && found.credentials.length > 0) return { refused: 'has_credential' }
  const secret = newOpaqueToken()
  const path = linkPath(secret)
  const link = { name, sha256: hashOpaqueToken(secret) }
  await requireApproval(administration, by, {
    ...{ action: 'operator.issue_link', object: `operator:${name}`, from: null, to: link, secrets: { path } },
  })
  await putLink(administration, by, link)
  return { path, expiresAt: clock() + linkSeconds * 1000 }
}

/** Stores a link under the hash of its secret. Throws `Unavailable`. */
export const putLink = (
  administration: Administration,
  by: Operator,
  { name, sha256 }: { readonly name: string; readonly sha256: string },
): Promise<{ readonly name: string }> =>
  change(administration, by, { action: 'operator.issue_link', operator: name }, async () => {
    await collections(administration.stores).operatorLinks.put(sha256, { name }, linkSeconds)
    return { name }
  })
