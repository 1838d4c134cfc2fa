import type { Config } from '../../config/schema.js'
import type { AuthorizeOptions } from '../endpoints/authorize/index.js'
import { createDeviceAuthorization } from '../endpoints/device-authorization.js'
import { createDevice } from '../endpoints/device/index.js'
import type { Endpoints } from '../http/routes.js'
import type { Places } from '../interaction/places.js'
import type { ClientAuthentication } from '../oauth/client-authentication.js'
import type { Collections } from './collections.js'

/** The endpoints of the device flow, on what `/authorize` and `/token` stand on. */
export const wireDevice = (
  config: Config,
  authorize: AuthorizeOptions,
  authenticateClient: ClientAuthentication,
  { deviceCodes, attempts }: Pick<Collections, 'deviceCodes' | 'attempts'>,
  openCodes: Places,
): NonNullable<Endpoints['device']> => ({
  ...createDevice({ ...authorize, deviceCodes, attempts }),
  authorization: createDeviceAuthorization({
    issuer: config.issuer,
    authenticateClient,
    scopesSupported: config.scopes_supported,
    defaultAudience: config.default_audience,
    deviceCodes,
    attempts,
    openCodes,
    ttlSeconds: config.device_code_ttl_secs,
    clock: authorize.clock,
    audit: authorize.audit,
    refusals: authorize.refusals,
  }),
})
