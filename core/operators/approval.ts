import type { JsonObject } from '../json.js'
import type { Assertion } from './passkeys.js'
import { isAssertionOf } from './passkeys.js'
import type { KnownOperator, OperatorDirectory } from './directory.js'
import type { DeviceApprovals, DeviceSignature } from './device-approval.js'
import {
  credentialId,
  type OperatorCredential,
  type OperatorDevice,
  type OperatorPasskey,
  type OperatorRecord,
} from './operator-record.js'
import { controlled, digestOf, type ActionDocument } from './action.js'
import { permissionsOf, type Roles } from './permissions.js'

interface GivenBy extends JsonObject {
  readonly operator: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** The id of the operator's credential: `credentialId` of its record. */
  readonly credential: string
}

/** A signature of an operator over the digest of an action document: by a passkey, or by an attested device. */
export type SignedApproval =
  | (GivenBy & { readonly assertion: Assertion & JsonObject; readonly origin: string; readonly rp_id: string })
  | (GivenBy & { readonly device: DeviceSignature })

/** A credential that signs approvals. */
export type ApprovingCredential = OperatorPasskey | OperatorDevice

/** Verifies signatures of attested devices. Undefined: this deployment enrols none, so none approves. */
export type VerifyDevice = Pick<DeviceApprovals, 'verify'> | undefined

/** An action that waits for approval, and its outcome. */
export interface ApprovalRecord {
  readonly id: string
  /** The canonical JSON of an `ActionDocument`. */
  readonly document: string
  /** `running`: it is carried out, or the process that did so has died. */
  readonly state: 'waiting' | 'running' | 'done' | 'failed' | 'refused'
  readonly approvals: readonly SignedApproval[]
  /** The reason for a refusal or failure, or the operator who broke the glass. */
  readonly note?: string
  /** The time at which it was carried out without approvals, in milliseconds since the epoch. */
  readonly brokenGlassAt?: number
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
}

/** Operators whose approval would be one of their own action. */
const ownersOf = ({ requested_by: by }: ActionDocument): readonly unknown[] => [by.operator, by['issued_by']]

/** Returns the reason for which an operator may not approve an action, or undefined. */
export const findApproverFault = (
  action: ActionDocument,
  operator: KnownOperator | undefined,
  roles: Roles,
): 'own' | 'unknown_operator' | 'not_permitted' | undefined => {
  if (operator === undefined || operator.disabled) return 'unknown_operator'
  if (ownersOf(action).includes(operator.name)) return 'own'
  const permissions = permissionsOf(roles, operator.roles)
  return permissions.has('approvals.decide') && permissions.has(controlled[action.kind]) ? undefined : 'not_permitted'
}

/** The credential of an operator by which an approval was given, if the operator has it now. */
export const approvingCredential = ({ credentials }: KnownOperator, id: string): ApprovingCredential | undefined =>
  credentials.find(
    (own): own is ApprovingCredential => (own.kind === 'passkey' || own.kind === 'device') && credentialId(own) === id,
  )

/** Verifies one approval of a document with the credential that the operator has now. Throws `Unavailable`. */
export const isApprovalOf = async (
  document: string,
  approval: SignedApproval,
  credential: ApprovingCredential,
  devices: VerifyDevice,
): Promise<boolean> => {
  if ('device' in approval) {
    if (credential.kind !== 'device') return false
    const signer = await devices?.verify(approval.device as DeviceSignature, document)
    return signer?.principal.principalId === credential.principal
  }
  const { assertion, origin, rp_id: rpId } = approval
  return (
    credential.kind === 'passkey' &&
    isAssertionOf(assertion, credential, { challenge: digestOf(document), origin, rpId })
  )
}

/** The settings on which the trust in a credential of the store depends. */
export interface CredentialTrust {
  readonly directory: Pick<OperatorDirectory, 'find'>
  /** `dual_control.operators` */
  readonly needed: number
  readonly devices: VerifyDevice
}

/** Each credential was approved by earlier ones, the first of which are in the configuration. */
const maxDepth = 5

const isSameCredential = (one: OperatorCredential, other: ApprovingCredential): boolean =>
  credentialId(one) === credentialId(other) &&
  (one.kind !== 'passkey' || other.kind !== 'passkey' || one.publicKey === other.publicKey)

/**
 * Whether a credential may approve: it is in the configuration, or enough other operators have approved that it was
 * added. Without `dual_control.operators` nobody had to. Throws `Unavailable`.
 */
export const isTrustedCredential = async (
  operator: KnownOperator,
  credential: ApprovingCredential,
  trust: CredentialTrust,
  depth = 0,
): Promise<boolean> => {
  if (trust.needed === 0 || operator.fixed?.includes(credentialId(credential)) === true) return true
  if (credential.approved === undefined || depth === maxDepth) return false
  const { document, approvals } = credential.approved
  const action = JSON.parse(document) as ActionDocument
  const { record } = action.to as unknown as { readonly record?: OperatorRecord }
  const isIts =
    action.action === 'operator.add_credential' &&
    record?.name === operator.name &&
    record.credentials.some((own) => isSameCredential(own, credential))
  if (!isIts) return false
  const good = new Set<string>()
  for (const approval of approvals as unknown as readonly SignedApproval[]) {
    const by = await trust.directory.find(approval.operator)
    const own = by && approvingCredential(by, approval.credential)
    if (by === undefined || own === undefined || ownersOf(action).includes(by.name)) continue
    if (
      (await isApprovalOf(document, approval, own, trust.devices)) &&
      (await isTrustedCredential(by, own, trust, depth + 1))
    )
      good.add(by.name)
  }
  return good.size >= trust.needed
}
