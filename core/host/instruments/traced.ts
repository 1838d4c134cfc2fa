import type { KeyRing } from '../../keys/ports.js'
import type { ClientAuthentication } from '../../oauth/clients/client-authentication.js'
import type { Tracing } from '../../observe/tracing.js'

/** Returns the same authentication, with a span for each call. */
export const traceClientAuthentication = (
  authenticate: ClientAuthentication,
  tracing: Tracing | undefined,
): ClientAuthentication => {
  if (tracing === undefined) return authenticate
  return (request, signal) =>
    tracing.call(
      'client authentication',
      {},
      () => authenticate(request, signal),
      ({ method }) => ({ 'signet.client_auth_method': method }),
    )
}

/** Returns the same ring, with a span for each signature. The span includes the wait for the signer. */
export const traceSignatures = <R extends KeyRing>(ring: R, tracing: Tracing | undefined): R => {
  if (tracing === undefined) return ring
  return {
    ...ring,
    sign: (order) =>
      tracing.call(
        'signature',
        { 'signet.purpose': order.purpose, 'signet.alg': order.alg },
        () => ring.sign(order),
        ({ kid, signer }) => ({ 'signet.kid': kid, 'signet.signer': signer }),
      ),
  }
}
