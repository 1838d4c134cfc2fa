import type { Declaration } from './endpoint.js'
import { json, type EndpointRequest, type Handler, type Reply } from './message.js'

/** What a verifier of `signet-idp/verify` finds, as far as the demo shows it. */
interface Verified {
  readonly principal: object
  readonly attributes: object
  readonly jkt: string
}

export interface DemoPaymentOptions {
  readonly issuer: string
  /** Gives what was found, or the answer to a request that is refused. */
  readonly verify: (request: Request) => Promise<Verified | { readonly answer: Reply }>
}

/** `POST /demo/payment`: the demo plays a service that attested devices call. It pays nothing. */
export const demoPaymentEndpoint = {
  path: '/demo/payment',
  methods: ['POST'],
  body: 'json',
  limit: { byAddress: 'documents', byRefusals: false },
} as const satisfies Declaration

const signed = ['content-type', 'x-attestation', 'x-signature'] as const

export const createDemoPaymentEndpoint =
  ({ issuer, verify }: DemoPaymentOptions): Handler =>
  async (http) => {
    const found = await verify(requestOf(http, `${issuer}${demoPaymentEndpoint.path}`))
    if ('answer' in found) return found.answer
    const { principal, attributes, jkt } = found
    return json(200, { principal, attributes, jkt })
  }

const requestOf = (http: EndpointRequest, url: string): Request => {
  const headers = new Headers()
  for (const name of signed) {
    const value = http.header(name)
    if (value !== undefined) headers.set(name, value)
  }
  return new Request(url, { method: http.method, headers, body: new Uint8Array(http.body ?? []) })
}
