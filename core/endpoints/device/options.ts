import type { DeviceApproval, DeviceRequest } from '../../oauth/grants/device-code.js'
import type { AttemptLimiter, DeviceCodeStore } from '../../storage/ports.js'

export interface DeviceOptions {
  readonly deviceCodes: DeviceCodeStore<DeviceRequest, DeviceApproval>
  /** Counts typed user codes, and codes for public clients. */
  readonly attempts: AttemptLimiter
}
