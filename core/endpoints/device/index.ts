import { createFlow } from '../authorize/flow.js'
import type { AuthorizeOptions } from '../authorize/options.js'
import type { Endpoint } from '../message.js'
import { createDevicePage } from './enter.js'
import type { DeviceOptions } from './options.js'
import { createDeviceVerify } from './verify.js'

export type { DeviceOptions } from './options.js'

export interface DeviceEndpoints {
  /** GET `/device`. */
  readonly page: Endpoint
  /** POST `/device/verify`. */
  readonly verify: Endpoint
}

/** The pages where a person answers a device (RFC 8628 §3.3). They share sessions and sign-in with `/authorize`. */
export const createDevice = (options: AuthorizeOptions & DeviceOptions): DeviceEndpoints => {
  const flow = createFlow(options)
  return { page: createDevicePage(options, flow), verify: createDeviceVerify(options, flow) }
}
