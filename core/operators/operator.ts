import { addressBucket } from '../address-bucket.js'
import type { ActedBy } from '../observe/acted-by.js'
import { everyPermission, type Permission } from './permissions.js'

/**
 * How an operator proved to be one. `local` is a command on the host, or a program that can open the unix socket of
 * the admin listener; `admin_token` is `admin.token` of the configuration; `link` is a one-time link that a command on
 * the host printed; `device` is the signature of an attested device, which only decides what waits for approval.
 */
export type OperatorProof = 'local' | 'admin_token' | 'token' | 'certificate' | 'oidc' | 'passkey' | 'link' | 'device'

/** An operator who has authenticated, with the permissions in force for this request. */
export interface OperatorIdentity {
  readonly name: string
  readonly roles: readonly string[]
  readonly permissions: ReadonlySet<Permission>
  readonly proof: OperatorProof
  /** The id of the credential, as the list of operators shows it. Absent for `local` and `admin_token`. */
  readonly credential?: string
  /** The operator who issued the token. An approval by that operator would be one of their own action. */
  readonly issuedBy?: string
  /**
   * The value that every form of the session must send as `csrf`. Absent when the request was authenticated by
   * something that a browser does not send by itself.
   */
  readonly csrf?: string
}

/** The operator for anyone who can open the stores of the deployment. */
export const localOperator: OperatorIdentity = {
  name: 'local',
  roles: ['local'],
  permissions: everyPermission,
  proof: 'local',
}

/** Describes the operator of a request for `by` of the audit log. `via` is the part of the listener that was used. */
export const actedByOperator = (
  { name, proof, credential, issuedBy }: OperatorIdentity,
  { via, address }: { readonly via: 'api' | 'console' | 'http'; readonly address: string },
): ActedBy => ({
  via,
  operator: name,
  proof,
  ...(credential !== undefined && { credential }),
  ...(issuedBy !== undefined && { issued_by: issuedBy }),
  address: addressBucket(address) ?? address,
})
