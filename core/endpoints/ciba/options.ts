import type { BackchannelApproval, BackchannelRequest } from '../../oauth/ciba/request.js'
import type { BackchannelLimits } from '../../oauth/ciba/limits.js'
import type { WaitingApprovals } from '../../oauth/ciba/waiting-approvals.js'
import type { DeviceCodeStore } from '../../storage/ports.js'

/** Options that the endpoints for clients and for devices share. */
export interface CibaOptions {
  /**
   * Requests by the hash of their `auth_req_id`, and by the id under which a device decides, which replaces the user
   * code.
   */
  readonly requests: DeviceCodeStore<BackchannelRequest, BackchannelApproval>
  readonly waiting: WaitingApprovals
  readonly limits: BackchannelLimits
}
