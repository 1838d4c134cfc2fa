import { createDemoPaymentEndpoint, demoPaymentEndpoint } from '../endpoints/demo-payment.js'
import type { HandlersOf } from '../endpoints/endpoint.js'
import { tokens, type Resolve } from './injection-tokens.js'

/** What is served beside the page of the demo where it can enrol browsers. */
export const demoEndpoints = { demoPayment: demoPaymentEndpoint }

export const createDemoEndpoints = (get: Resolve): HandlersOf<typeof demoEndpoints> => {
  const { issuer, attestation } = get(tokens.config)
  // No other deployment loads the library.
  const opening = import('../../libraries/verify/index.js').then(({ createVerifier, VerificationError }) => {
    const type = attestation?.typ
    const verifier = createVerifier({
      issuers: [issuer],
      audience: issuer,
      clock: get(tokens.clock),
      ...(type !== undefined && { attestationType: type }),
    })
    return (request: Request) =>
      verifier.check(request).catch((error: unknown) => {
        if (error instanceof VerificationError) return { answer: error.answer }
        throw error
      })
  })
  opening.catch(() => undefined)
  return { demoPayment: createDemoPaymentEndpoint({ issuer, verify: async (request) => (await opening)(request) }) }
}
