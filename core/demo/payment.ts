import type { Clock } from '../clock.js'
import type { Declaration } from '../endpoints/endpoint.js'
import { json, type EndpointRequest, type Handler } from '../endpoints/message.js'

export interface DemoPaymentOptions {
  readonly issuer: string
  readonly clock: Clock
  /** The `typ` of attestations, where it differs from the usual one. */
  readonly attestationType?: string | undefined
}

/** `POST /demo/payment`: the demo plays a service that attested devices call. It does not pay anything. */
export const demoPaymentEndpoint = {
  path: '/demo/payment',
  methods: ['POST'],
  body: 'json',
  limit: { byAddress: 'documents', byRefusals: false },
} as const satisfies Declaration

/** The endpoints beside the page of the demo, where the demo can enrol browsers. */
export const demoEndpoints = { demoPayment: demoPaymentEndpoint }

const signed = ['content-type', 'x-attestation', 'x-signature'] as const

/** Only the demo loads the library. */
const openVerifier = async ({ issuer, clock, attestationType }: DemoPaymentOptions) => {
  const { createVerifier, VerificationError } = await import('../../libraries/verify/index.js')
  const verifier = createVerifier({
    issuers: [issuer],
    audience: issuer,
    clock,
    ...(attestationType !== undefined && { attestationType }),
  })
  return (request: Request) =>
    verifier.check(request).catch((error: unknown) => {
      if (error instanceof VerificationError) return { answer: error.answer }
      throw error
    })
}

export const createDemoPaymentEndpoint = (options: DemoPaymentOptions): Handler => {
  const opening = openVerifier(options)
  opening.catch(() => undefined)
  return async (http) => {
    const verify = await opening
    const found = await verify(requestOf(http, `${options.issuer}${demoPaymentEndpoint.path}`))
    if ('answer' in found) return found.answer
    const { principal, attributes, jkt } = found
    return json(200, { principal, attributes, jkt })
  }
}

const requestOf = (http: EndpointRequest, url: string): Request => {
  const headers = new Headers()
  for (const name of signed) {
    const value = http.header(name)
    if (value !== undefined) headers.set(name, value)
  }
  return new Request(url, { method: http.method, headers, body: new Uint8Array(http.body ?? []) })
}
