import type { Endpoint } from '../endpoints/message.js'
import type { Endpoints } from '../http/routes.js'
import type { Generation } from './generation.js'

/** A generation as requests see it. */
export interface Serving extends Pick<Generation, 'uses'> {
  /** Those that stand on it. */
  readonly endpoints: Endpoints
}

/**
 * The endpoints of whatever serves now. A request is answered by one generation from its first step to its last, and
 * counts as a use of it.
 */
export const createLiveEndpoints = (serving: () => Serving): Endpoints => {
  const through =
    (find: (endpoints: Endpoints) => Endpoint): Endpoint =>
    (request) => {
      const { endpoints, uses } = serving()
      const reply = find(endpoints)(request)
      return reply instanceof Promise ? uses.during(reply) : reply
    }
  const { interactive, device, attestation } = serving().endpoints
  return {
    discovery: through((endpoints) => endpoints.discovery),
    keySet: through((endpoints) => endpoints.keySet),
    token: through((endpoints) => endpoints.token),
    introspect: through((endpoints) => endpoints.introspect),
    revoke: through((endpoints) => endpoints.revoke),
    home: through((endpoints) => endpoints.home),
    asset: through((endpoints) => endpoints.asset),
    ...(device && {
      device: {
        authorization: through(({ device: pages = device }) => pages.authorization),
        page: through(({ device: pages = device }) => pages.page),
        verify: through(({ device: pages = device }) => pages.verify),
      },
    }),
    ...(attestation && {
      attestation: {
        enrol: through(({ attestation: ceremony = attestation }) => ceremony.enrol),
        complete: through(({ attestation: ceremony = attestation }) => ceremony.complete),
        reissue: through(({ attestation: ceremony = attestation }) => ceremony.reissue),
        challenge: through(({ attestation: ceremony = attestation }) => ceremony.challenge),
      },
    }),
    // Whether anybody signs in is the plugins' matter, which no reload changes.
    ...(interactive && {
      interactive: {
        authorize: through(({ interactive: pages = interactive }) => pages.authorize),
        userinfo: through(({ interactive: pages = interactive }) => pages.userinfo),
        login: through(({ interactive: pages = interactive }) => pages.login),
        consent: through(({ interactive: pages = interactive }) => pages.consent),
      },
    }),
  }
}
