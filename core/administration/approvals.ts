import { collections } from '../collections/collections.js'
import { parseCompactJws } from '../jose/compact-jws.js'
import type { JsonObject } from '../json.js'
import { digestOf, type ActionDocument } from '../operators/action.js'
import {
  findApproverFault,
  approvingCredential,
  isApprovalOf,
  isTrustedCredential,
  type ApprovalRecord,
  type CredentialTrust,
  type SignedApproval,
  type VerifyDevice,
} from '../operators/approval.js'
import { coseToJwk } from '../operators/cose-key.js'
import type { DeviceSignature } from '../operators/device-approval.js'
import type { KnownOperator } from '../operators/directory.js'
import type { OperatorIdentity } from '../operators/operator.js'
import { credentialId } from '../operators/operator-record.js'
import { readAssertion } from '../operators/passkeys.js'
import { rolesOf } from '../operators/permissions.js'
import type { AdminSite } from '../operators/site.js'
import { isRefusal, type Administration, type Deployment, type Operator, type Refusal } from './administration.js'
import { carryOut } from './carry-out.js'
import { operatorDirectory } from './operator-people.js'
import { requestedBy } from './require-approval.js'

/** An action that waits or waited for approval, as operators see it. */
export interface ListedApproval extends Omit<ApprovalRecord, 'approvals'> {
  readonly action: ActionDocument
  /** The digest that is signed: the challenge of a passkey. */
  readonly digest: string
  /** Names of those who have approved. */
  readonly approvedBy: readonly string[]
  readonly isExpired: boolean
}

/** The form of an id of an approval. */
export const idForm = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

const readDocument = ({ document }: ApprovalRecord): ActionDocument => JSON.parse(document) as ActionDocument

const listed = (record: ApprovalRecord, now: number): ListedApproval => {
  const { approvals, ...rest } = record
  return {
    ...rest,
    action: readDocument(record),
    digest: digestOf(record.document),
    approvedBy: approvals.map(({ operator }) => operator),
    isExpired: record.state === 'waiting' && record.expiresAt <= now,
  }
}

interface Timed extends Deployment {
  readonly clock: () => number
}

/** Lists at most `limit` records after this id, in the order of ids. Throws `Unavailable`. */
export const listApprovals = async (
  { stores, clock }: Timed,
  after: string | undefined,
  limit: number,
): Promise<readonly ListedApproval[]> =>
  (await collections(stores).approvals.list(after, limit)).map(({ record }) => listed(record, clock()))

/** Throws `Unavailable`. */
export const readApproval = async ({ stores, clock }: Timed, id: string): Promise<ListedApproval | undefined> => {
  const record = idForm.test(id) ? await collections(stores).approvals.find(id) : undefined
  return record && listed(record, clock())
}

export type ApprovalRefusal = Refusal<
  | 'unknown'
  | 'over'
  | 'expired'
  | 'own'
  | 'twice'
  | 'unknown_operator'
  | 'not_permitted'
  | 'no_signature'
  | 'unapproved_passkey'
  | 'wrong_signature'
>

/** An approval, and the state of the action after it. `failed`: `note` says why it was not carried out. */
export interface Approved {
  readonly id: string
  readonly state: ApprovalRecord['state']
  /** The number of approvals that it still needs. */
  readonly missing: number
  readonly note?: string
}

/** Counts the approvals of different operators that are good now. Whatever a store has is verified once more. */
const countGood = async (
  { document, approvals }: ApprovalRecord,
  action: ActionDocument,
  config: Administration['config'],
  trust: CredentialTrust,
): Promise<number> => {
  const good = new Set<string>()
  for (const approval of approvals) {
    const operator = await trust.directory.find(approval.operator)
    if (operator === undefined || findApproverFault(action, operator, rolesOf(config.operators.roles))) continue
    const own = approvingCredential(operator, approval.credential)
    if (own === undefined || !(await isApprovalOf(document, approval, own, trust.devices))) continue
    if (await isTrustedCredential(operator, own, trust)) good.add(operator.name)
  }
  return good.size
}

/** Returns the reason for which a record takes no approval. */
export const findStateFault = (record: ApprovalRecord | undefined, now: number): ApprovalRefusal | undefined => {
  if (record === undefined) return { refused: 'unknown' }
  if (record.state !== 'waiting') return { refused: 'over' }
  return record.expiresAt <= now ? { refused: 'expired' } : undefined
}

/** An assertion, as an `AuthenticationResponseJSON` whose challenge is the digest of the document. */
export interface PasskeyAnswer {
  readonly site: AdminSite
  readonly answer: string
}

export interface GivenApproval {
  readonly id: string
  readonly operator: OperatorIdentity
  readonly signed: PasskeyAnswer | { readonly device: DeviceSignature }
  readonly devices: VerifyDevice
}

interface ReadApproval {
  readonly signed: SignedApproval
  /** The members of its line in the audit log, by which others can verify it. */
  readonly logged: JsonObject
}

/** Describes a passkey's approval. Undefined: it is none of this operator's. */
const readPasskeyAnswer = async (
  { site, answer }: PasskeyAnswer,
  { name, credentials }: KnownOperator,
  at: number,
): Promise<ReadApproval | undefined> => {
  const assertion = readAssertion(answer)
  const passkey = credentials.find((own) => own.kind === 'passkey' && own.credentialId === assertion?.id)
  if (assertion === undefined || passkey?.kind !== 'passkey') return undefined
  const { origin, hostname: rp_id } = site
  return {
    signed: { operator: name, at, credential: credentialId(passkey), assertion: { ...assertion }, origin, rp_id },
    logged: {
      ...{ public_key: await coseToJwk(passkey.publicKey), origin, rp_id, client_data: assertion.clientDataJSON },
      ...{ authenticator_data: assertion.authenticatorData, signature: assertion.signature },
    },
  }
}

/** Describes the approval of the device with which the operator has authenticated. */
const readDeviceAnswer = (
  device: DeviceSignature,
  { name, credentials }: KnownOperator,
  { proof, credential }: OperatorIdentity,
  at: number,
): ReadApproval | undefined => {
  const own = credentials.find((one) => one.kind === 'device' && credentialId(one) === credential)
  if (proof !== 'device' || own?.kind !== 'device') return undefined
  const { attestation, signature, body } = device
  return {
    signed: { operator: name, at, credential: credentialId(own), device },
    logged: {
      ...{ did: own.principal, public_key: parseCompactJws(signature)?.header['jwk'] ?? null, signature, body },
      attestation_digest: digestOf(attestation),
    },
  }
}

/** Reads and verifies the signature of an approver. */
const readSigned = async (
  { config, clock }: Administration,
  { document, ...record }: ApprovalRecord,
  { operator: identity, signed: given }: GivenApproval,
  trust: CredentialTrust,
): Promise<ReadApproval | ApprovalRefusal> => {
  const operator = await trust.directory.find(identity.name)
  const action = readDocument({ document, ...record })
  const fault = findApproverFault(action, operator, rolesOf(config.operators.roles))
  if (operator === undefined || fault !== undefined) return { refused: fault ?? 'unknown_operator' }
  const read =
    'device' in given
      ? readDeviceAnswer(given.device, operator, identity, clock())
      : await readPasskeyAnswer(given, operator, clock())
  const credential = read && approvingCredential(operator, read.signed.credential)
  if (read === undefined || credential === undefined) return { refused: 'no_signature' }
  if (!(await isTrustedCredential(operator, credential, trust))) return { refused: 'unapproved_passkey' }
  return (await isApprovalOf(document, read.signed, credential, trust.devices)) ? read : { refused: 'wrong_signature' }
}

/**
 * Adds the approval of an operator. The process that adds the last one carries the action out, once, if the object is
 * still as it was. Throws `Unavailable`.
 */
export const approve = async (
  administration: Administration,
  by: Operator,
  given: GivenApproval,
): Promise<Approved | ApprovalRefusal> => {
  const { stores, clock, audit, config } = administration
  const { approvals } = collections(stores)
  const before = idForm.test(given.id) ? await approvals.find(given.id) : undefined
  const fault = findStateFault(before, clock())
  if (before === undefined || fault !== undefined) return fault ?? { refused: 'unknown' }
  const directory = operatorDirectory(administration)
  const trust = { directory, needed: config.dual_control.operators, devices: given.devices }
  const read = await readSigned(administration, before, given, trust)
  if ('refused' in read) return read
  const { signed, logged } = read
  await audit.record({
    ...{ event: 'approval.given', approval: given.id, operator: signed.operator, credential: signed.credential },
    ...{ document: before.document, ...logged, by },
  })
  const added = await approvals.update<ApprovalRecord | ApprovalRefusal>(given.id, (current, expiresAt) => {
    const late = findStateFault(current, clock())
    if (current === undefined || late !== undefined) return { result: late ?? { refused: 'unknown' } }
    if (current.approvals.some(({ operator }) => operator === signed.operator)) return { result: { refused: 'twice' } }
    const record = { ...current, approvals: [...current.approvals, signed] }
    return { result: record, write: { record, expiresAt } }
  })
  if ('refused' in added) return added
  const action = readDocument(added)
  const good = await countGood(added, action, config, trust)
  // The configuration in force says how many are needed, so that an edited document needs no fewer.
  const needed = Math.max(1, config.dual_control[action.kind])
  if (good < needed) return { id: given.id, state: 'waiting', missing: needed - good }
  return runOnce(administration, given.id)
}

/** Carries an action out, unless another process does. */
export const runOnce = async (
  administration: Administration,
  id: string,
  how: Pick<ApprovalRecord, 'brokenGlassAt'> = {},
): Promise<Approved | ApprovalRefusal> => {
  const { stores } = administration
  const { approvals } = collections(stores)
  const move = (from: ApprovalRecord['state'], to: ApprovalRecord['state'], note?: string) =>
    approvals.update<ApprovalRecord | undefined>(id, (current, expiresAt) => {
      if (current?.state !== from) return { result: undefined }
      const record = { ...current, ...how, state: to, ...(note !== undefined && { note }) }
      return { result: record, write: { record, expiresAt } }
    })
  const claimed = await move('waiting', 'running')
  if (claimed === undefined) return { refused: 'over' }
  const result = await carryOut({ ...administration, approval: id }, readDocument(claimed), claimed)
  if (!isRefusal(result)) {
    await move('running', 'done')
    return { id, state: 'done', missing: 0 }
  }
  const note = result.refused
  await move('running', 'failed', note)
  return { id, state: 'failed', missing: 0, note }
}

/** Ends an action without carrying it out. The one who asked for it may, too. Throws `Unavailable`. */
export const declineApproval = async (
  { stores, clock, audit }: Administration,
  by: Operator,
  { id, reason }: { readonly id: string; readonly reason?: string | undefined },
): Promise<{ readonly id: string } | ApprovalRefusal> => {
  const { approvals } = collections(stores)
  const found = idForm.test(id) ? await approvals.find(id) : undefined
  const fault = findStateFault(found, clock())
  if (fault !== undefined) return fault
  const declined: JsonObject = reason === undefined ? {} : { reason }
  await audit.record({ event: 'approval.declined', approval: id, ...declined, by })
  return approvals.update<{ readonly id: string } | ApprovalRefusal>(id, (current, expiresAt) => {
    const late = findStateFault(current, clock())
    if (current === undefined || late !== undefined) return { result: late ?? { refused: 'unknown' } }
    const { operator: note } = requestedBy(by)
    const record = { ...current, state: 'refused' as const, note }
    return { result: { id }, write: { record, expiresAt } }
  })
}
