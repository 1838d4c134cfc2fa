import type { Config } from '../../config/schema.js'
import type { AuthorizationOptions } from '../endpoints/authorization-flow/options.js'
import type { Flow } from '../endpoints/authorization-flow/flow.js'
import { createDeviceAuthorization } from '../endpoints/device/authorization.js'
import { createDevicePage } from '../endpoints/device/page.js'
import { createDeviceVerify } from '../endpoints/device/verify.js'
import type { Endpoints } from '../http/routes.js'
import type { Places } from '../interaction/places.js'
import type { ClientAuthentication } from '../oauth/client-authentication.js'
import type { Collections } from './collections.js'

/** The endpoints of the device flow, on what `/authorize` and `/token` stand on. */
export const wireDevice = (
  config: Config,
  authorization: AuthorizationOptions,
  flow: Flow,
  authenticateClient: ClientAuthentication,
  { deviceCodes, attempts }: Pick<Collections, 'deviceCodes' | 'attempts'>,
  openCodes: Places,
): NonNullable<Endpoints['device']> => {
  const options = { ...authorization, deviceCodes, attempts }
  return {
    page: createDevicePage(options, flow),
    verify: createDeviceVerify(options, flow),
    authorization: createDeviceAuthorization({
      ...options,
      authenticateClient,
      openCodes,
      ttlSeconds: config.device_code_ttl_secs,
    }),
  }
}
