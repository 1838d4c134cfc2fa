import type { DeviceApproval, DeviceRequest } from '../../oauth/grants/device-code.js'
import type { AttemptLimiter, DeviceCodeStore } from '../../storage/ports.js'

export interface DeviceOptions {
  readonly deviceCodes: DeviceCodeStore<DeviceRequest, DeviceApproval>
  /** Counts what was typed for a user code, and codes that public clients ask for. */
  readonly attempts: AttemptLimiter
}
