import { checkMembers, kinds } from '../wire/options.js'
import { approvalType } from '../wire/names.js'
import { unreachable, type Ask, type Json } from './issuer.js'
import { signCompact } from './key.js'
import { addRequestSignature, type Signing } from './sign.js'

/** The request that a client wants the person to approve. */
export interface ApprovalRequest {
  readonly client_id: string
  readonly client_name?: string
  readonly scope: string
  readonly resource?: readonly string[]
  readonly binding_message?: string
  /** RFC 9396. */
  readonly authorization_details?: readonly Json[]
  /** Members that a later issuer adds must be shown too. */
  readonly [member: string]: unknown
}

/** A request that waits for a decision. */
export interface Approval {
  readonly approvalId: string
  /** Seconds. */
  readonly expiresIn: number
  /** The person must see all of it, because `decide` signs it. */
  readonly request: ApprovalRequest
}

export type Decision = 'approve' | 'deny'

export interface Approvals {
  list(): Promise<readonly Approval[]>
  decide(approval: Approval, decision: Decision): Promise<'approved' | 'denied'>
}

const approvalMembers = { approvalId: kinds.name, expiresIn: kinds.number, request: kinds.object }

const path = '/approvals'
/** Seconds that a decision is valid. It is sent at once. */
const goodFor = 60

export const createApprovals = (issuer: string, ask: Ask, signer: () => Promise<Signing>): Approvals => {
  const send = async ({ key, attestation, now }: Signing, request: RequestInit): Promise<Json> => {
    const unsigned = new Request(`${issuer}${path}`, request)
    const { headers } = await addRequestSignature(unsigned, key, attestation, { audience: issuer }, now)
    return ask(path, { ...request, headers })
  }

  return {
    async list() {
      const { approvals } = await send(await signer(), { method: 'GET' })
      if (!Array.isArray(approvals) || !approvals.every(isWaiting)) throw unreachable('no approvals')
      return approvals.map(({ approval_id: approvalId, expires_in: expiresIn, request }) => ({
        approvalId,
        expiresIn,
        request,
      }))
    },
    async decide(approval, decision) {
      checkMembers('approval', approval, approvalMembers, ['approvalId', 'request'])
      checkMembers('decide', { decision }, { decision: kinds.oneOf('approve', 'deny') }, ['decision'])
      const { approvalId, request } = approval
      const by = await signer()
      const iat = Math.floor(by.now)
      const claims = { aud: issuer, iat, exp: iat + goodFor, approval_id: approvalId, decision, request }
      const body = JSON.stringify({ decision: await signCompact(by.key, { typ: approvalType }, claims) })
      const { state } = await send(by, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
      if (state !== 'approved' && state !== 'denied') throw unreachable('no state')
      return state
    },
  }
}

interface Waiting {
  readonly approval_id: string
  readonly expires_in: number
  readonly request: ApprovalRequest
}

const isWaiting = (entry: unknown): entry is Waiting => {
  const { approval_id: id, expires_in: seconds, request } = (entry ?? {}) as Partial<Waiting>
  return typeof id === 'string' && typeof seconds === 'number' && typeof request === 'object'
}
