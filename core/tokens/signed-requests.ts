import { maxTokenLength } from '../jose/compact-jws.js'
import type { KeyRing, RequestPurpose, SignedRequests } from '../keys/ports.js'
import type { AuditLog } from '../observe/audit.js'
import { Unavailable } from '../unavailable.js'
import { createSignToken } from './sign-token.js'

/**
 * The requests that plugins have signed for external services. Each has a `typ` of its own, so that it cannot pass
 * for anything else (RFC 8725 §3.11).
 */
const types = {
  client_authentication: 'client-authentication+jwt',
  handoff: 'handoff+jwt',
} as const satisfies Record<RequestPurpose, string>

export interface SignedRequestsOptions {
  readonly ring: Pick<KeyRing, 'sign' | 'algorithms'>
  readonly audit: AuditLog
}

export const createSignedRequests = ({ ring, audit }: SignedRequestsOptions): SignedRequests => {
  const sign = createSignToken(ring)
  return {
    async sign(purpose, claims, { by, signal, alg = ring.algorithms(purpose)[0] }) {
      if (alg === undefined) throw new Unavailable('keys', 'no', `No key has the purpose ${purpose}.`)
      const profile = { typ: types[purpose], purpose, maxLength: maxTokenLength }
      const { token, record } = await sign(profile, alg, claims, { priority: 'sign_in', clientId: by, signal })
      await audit.record({ event: 'request.signed', method: by, signatures: [record] })
      return token
    },
  }
}
