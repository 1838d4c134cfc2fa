import { hash } from 'node:crypto'
import { canonicalJson } from './canonical-json.js'
import type { JsonObject, JsonValue } from '../json.js'
import type { Permission } from './permissions.js'

/** Kinds of actions that other operators must approve where `dual_control` says so, with the permission for each. */
export const controlled = {
  keys: 'keys.write',
  clients: 'clients.write',
  operators: 'operators.write',
} as const satisfies Readonly<Record<string, Permission>>

export type ControlledKind = keyof typeof controlled

const kindsByAction = { key: 'keys', client: 'clients', operator: 'operators' } as const

/** The kind of an action by its name in the audit log (`client.remove`). Undefined: nobody must approve it. */
export const kindOf = (action: string): ControlledKind | undefined => {
  // The people of a ceremony confirm it themselves.
  if (action === 'key.ceremony') return undefined
  const [subject = ''] = action.split('.', 1)
  return Object.hasOwn(kindsByAction, subject) ? kindsByAction[subject as keyof typeof kindsByAction] : undefined
}

/** The requester of an action. */
export interface RequestedBy extends JsonObject {
  readonly operator: string
}

/** The document that is approved. Its canonical JSON is signed. Times are RFC 3339 texts. */
export interface ActionDocument extends JsonObject {
  readonly type: 'signet-action/1'
  readonly id: string
  /** The issuer of the deployment. */
  readonly deployment: string
  readonly kind: ControlledKind
  readonly action: string
  /** `client:shop` */
  readonly object: string
  /** The version of the object, or null if there is none yet. */
  readonly from: JsonValue
  readonly to: JsonObject
  readonly requested_by: RequestedBy
  /** The number of other operators who must approve. */
  readonly approvals: number
  readonly at: string
  readonly expires: string
}

export const writeAction = (action: ActionDocument): string => canonicalJson(action)

/** base64url of SHA-256: the challenge of an approval. */
export const digestOf = (document: string): string => hash('sha256', document, 'base64url')
