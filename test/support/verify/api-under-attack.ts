import {
  createResourceServer,
  VerificationError,
  type Requirements,
  type ResourceServer,
  type ResourceServerOptions,
} from '../../../libraries/verify/index.js'
import { createTokens } from './access-tokens.js'
import { createTestIssuer } from './attested-device.js'

/** An API, the issuer that it trusts, a client of both, and their clock. */
export const createApiUnderAttack = () => {
  const audience = 'https://api.example/orders'
  const origin = 'https://api.example'
  const start = Date.UTC(2026, 0, 1)
  let now = start
  const clock = () => now
  const issuer = createTestIssuer('https://issuer.example', clock)
  const make = (options: Partial<ResourceServerOptions> = {}): ResourceServer =>
    createResourceServer({ issuers: [{ issuer: issuer.issuer, jwks: issuer.jwks() }], audience, clock, ...options })
  let api = make()
  return {
    audience,
    origin,
    clock,
    issuer,
    tokens: createTokens(issuer, audience, origin, clock),
    make,
    later: (seconds: number): void => void (now += seconds * 1000),
    /** An API that remembers nothing, at the beginning of the year. */
    reset(): void {
      now = start
      api = make()
    },
    /** What is answered: the reason, the status, the headers and the challenges. */
    async answer(
      sent: Request,
      { needed, by = api }: { needed?: Requirements | undefined; by?: ResourceServer | undefined } = {},
    ) {
      try {
        await by.requireAccessToken(needed).check(sent)
        return { reason: 'accepted' }
      } catch (error) {
        if (!(error instanceof VerificationError)) throw error
        const { status, headers } = error.answer
        return { reason: error.reason, status, challenge: headers['www-authenticate'], headers }
      }
    },
  }
}
