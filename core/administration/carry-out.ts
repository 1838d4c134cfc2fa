import { putLink } from './operator-links.js'
import { collections } from '../collections/collections.js'
import type { JsonValue } from '../json.js'
import type { ActionDocument } from '../operators/action.js'
import type { Client } from '../oauth/clients/client.js'
import type { CredentialEvidence, OperatorRecord } from '../operators/operator-record.js'
import type { OperatorToken } from '../operators/operator-tokens.js'
import { localOperator } from '../operators/operator.js'
import type { Administration, Operator, Refusal } from './administration.js'
import { changeClient, removeClient, removeUnusedClients } from './clients.js'
import { putClient } from './client-metadata.js'
import { adoptKey, releaseSlot, rotateSlot, slotVersion } from './key-slots.js'
import { addOperator, operatorDirectory, removeOperator, writeApprovedOperator } from './operator-people.js'
import { putOperatorToken, revokeOperatorToken } from './operators.js'

type CarryOut = (
  administration: Administration,
  by: Operator,
  action: ActionDocument,
  evidence: CredentialEvidence,
) => Promise<object>

/** Rights were compared when the action was asked for, and others have approved it since. */
const issuer = localOperator

const text = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : '')

const version = ({ from }: ActionDocument): string => text(from)

const client: CarryOut = (administration, by, action) => {
  const { client: after } = action.to as unknown as { readonly client: Client }
  const verb = action.action.slice('client.'.length)
  const which = { action: verb, client_id: after.client_id, ifMatch: version(action) }
  return changeClient<never>(administration, by, which, () => Promise.resolve(after))
}

const operator: CarryOut = (administration, by, action, evidence) => {
  const { record } = action.to as unknown as { readonly record: OperatorRecord }
  return writeApprovedOperator(administration, by, {
    action: action.action,
    record,
    ifMatch: version(action),
    evidence,
  })
}

const slot =
  <To>(work: (administration: Administration, by: Operator, to: To) => Promise<object>): CarryOut =>
  async (administration, by, { from, to }) =>
    (await slotVersion(administration, text(to['slot']))) === from
      ? work(administration, by, to as unknown as To)
      : { refused: 'changed_meanwhile' }

const plain =
  <To>(work: (administration: Administration, by: Operator, to: To) => Promise<object>): CarryOut =>
  (administration, by, { to }) =>
    work(administration, by, to as unknown as To)

/** Carries out each action under dual control, by its name, from the approved document alone. */
export const controlledActions: Readonly<Record<string, CarryOut>> = {
  'client.add': plain<{ readonly client: Client }>((administration, by, to) =>
    putClient(administration, by, to.client),
  ),
  'client.update': client,
  'client.disable': client,
  'client.enable': client,
  'client.rotate_secret': client,
  'client.remove': (administration, by, action) =>
    removeClient(administration, by, { client_id: text(action.to['client_id']), ifMatch: version(action) }),
  'client.remove_unused': plain(removeUnusedClients),
  'key.rotate': slot(rotateSlot),
  'key.adopt': slot(adoptKey),
  'key.release': slot(releaseSlot),
  'operator.add': plain<Omit<Parameters<typeof addOperator>[2], 'issuer'>>((administration, by, to) =>
    addOperator(administration, by, { ...to, issuer }),
  ),
  'operator.update': operator,
  'operator.add_credential': operator,
  'operator.remove_credential': operator,
  'operator.remove': (administration, by, action) =>
    removeOperator(administration, by, { name: text(action.to['name']), issuer, ifMatch: version(action) }),
  'operator.issue_link': plain(putLink),
  'operator.issue_token': plain<{ readonly record: OperatorToken }>((administration, by, { record }) =>
    putOperatorToken(administration, by, record),
  ),
  'operator.revoke_token': plain<{ readonly id: string }>((administration, by, { id }) =>
    revokeOperatorToken(administration, by, id),
  ),
}

/** Tells whether the requester of the action is still an operator. */
const isRequesterThere = async (
  administration: Administration,
  { requested_by: by }: ActionDocument,
): Promise<boolean> => {
  const { operator: name, proof, credential } = by
  if (proof === 'token')
    return (await collections(administration.stores).operatorTokens.find(text(credential))) !== undefined
  // Commands on the host, `admin.token`, and people whom only the issuer of `operators.oidc` knows.
  if (name === 'local' || name === 'admin.token' || name.startsWith('oidc:')) return true
  const found = await operatorDirectory(administration).find(name)
  return found !== undefined && !found.disabled
}

/** Carries an approved action out. Throws `Unavailable`. */
export const carryOut = async (
  administration: Administration,
  action: ActionDocument,
  { document, approvals }: CredentialEvidence,
): Promise<object | Refusal<'requester_gone'>> => {
  if (!(await isRequesterThere(administration, action))) return { refused: 'requester_gone' }
  const work = controlledActions[action.action]
  if (work === undefined) throw new Error('no such action')
  return work(administration, action.requested_by as unknown as Operator, action, { document, approvals })
}
