import { createHash } from 'node:crypto'
import type { Device } from './attestation.js'
import { fromAnotherAddress } from '../addresses.js'

type Json = Record<string, unknown>

export const cibaGrant = 'urn:openid:params:grant-type:ciba'

/** A shop that asks for payments on the person's phone. */
export const shopClient = {
  client_id: 'shop',
  client_name: 'Corner Shop',
  client_secret: 'shop-secret-of-more-than-256-bits-for-tests',
  grant_types: [cibaGrant, 'refresh_token'],
  scope: 'openid profile offline_access read',
  authorization_details_types: ['payment'],
}
export const otherShopClient = { ...shopClient, client_id: 'other-shop', client_name: 'Other Shop' }

/** Adds the grant and its clients to a configuration with attestation. */
export const withCiba = (written: Json): Json => ({
  ...written,
  plugins: [...(written['plugins'] as Json[]), { use: 'plugins/grants/ciba' }, { use: 'plugins/attestation/registry' }],
  authorization_details_types: [
    {
      type: 'payment',
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: { amount: { type: 'string' }, currency: { type: 'string' }, creditor: { type: 'string' } },
      },
    },
  ],
  clients: [...(written['clients'] as Json[]), shopClient, otherShopClient],
})

export interface WaitingRequest {
  readonly approval_id: string
  readonly expires_in: number
  readonly request: Json
}

export interface Departure {
  /** Changes the claims of the request signature. */
  readonly request?: (claims: Json) => Json
  readonly requestHeader?: (header: Json) => Json
  /** Changes the claims of the decision. */
  readonly decision?: (claims: Json) => Json
  readonly decisionHeader?: (header: Json) => Json
  /** Changes the body after it was signed. */
  readonly body?: (text: string) => string
  readonly query?: string
}

/** What the enrolled device of a person does at `/approvals`. */
export const createApprover = (device: Device, issuer: string, attestation: string, clock: () => number = Date.now) => {
  const seconds = () => Math.floor(clock() / 1000)

  const headersFor = async (method: string, body: string | undefined, departure: Departure) => {
    const claims: Json = {
      iat: seconds(),
      exp: seconds() + 60,
      jti: crypto.randomUUID(),
      mth: method,
      pth: '/approvals',
      aud: issuer,
      ...(body !== undefined && { bdh: createHash('sha256').update(body).digest('hex') }),
    }
    const header: Json = { alg: 'ES256', typ: 'device-signature+jwt', jwk: device.jwk }
    const signature = await device.sign(
      departure.request?.(claims) ?? claims,
      departure.requestHeader?.(header) ?? header,
    )
    return { 'x-attestation': attestation, 'x-signature': signature, ...fromAnotherAddress() }
  }

  const read = async (response: Response) => ({
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Json,
  })

  const send = async (method: 'GET' | 'POST', headers: Record<string, string>, body?: string, query = '') =>
    read(
      await fetch(`${issuer}/approvals${query}`, {
        method,
        headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
        ...(body !== undefined && { body }),
      }),
    )

  return {
    send,
    headersFor,
    async get(departure: Departure = {}) {
      return send('GET', await headersFor('GET', undefined, departure), undefined, departure.query)
    },
    /** What waits; throws when it is refused. */
    async list(): Promise<readonly WaitingRequest[]> {
      const { status, body } = await this.get()
      if (status !== 200) throw new Error(`/approvals answered ${String(status)}: ${JSON.stringify(body)}`)
      return body['approvals'] as WaitingRequest[]
    },
    /** The signed decision over a copy of what was shown. */
    proof({ approval_id, request }: WaitingRequest, decision = 'approve', departure: Departure = {}): Promise<string> {
      const claims: Json = { aud: issuer, iat: seconds(), exp: seconds() + 60, approval_id, decision, request }
      const header: Json = { alg: 'ES256', typ: 'approval+jwt' }
      return device.sign(departure.decision?.(claims) ?? claims, departure.decisionHeader?.(header) ?? header)
    },
    async decide(waiting: WaitingRequest, decision = 'approve', departure: Departure = {}) {
      const body = JSON.stringify({ decision: await this.proof(waiting, decision, departure) })
      const headers = await headersFor('POST', body, departure)
      return send('POST', headers, departure.body?.(body) ?? body, departure.query)
    },
  }
}

export type Approver = ReturnType<typeof createApprover>
