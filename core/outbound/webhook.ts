import { createHmac } from 'node:crypto'
import { epochSeconds, type Clock } from '../clock.js'
import type { JsonObject } from '../json.js'
import { parseStrictJsonObject } from '../../libraries/wire/strict-json.js'
import { newOpaqueToken } from '../opaque-token.js'
import type { OutboundFetch, OutboundRequest } from './outbound-fetch.js'

/** A service of the deployer that answers queries. */
export interface Webhook {
  readonly url: string
  /** Shared with the service: `whsec_` and base64 of 24 to 64 bytes (Standard Webhooks, "Signature scheme"). */
  readonly secret: string
}

const secretForm = /^whsec_([A-Za-z0-9+/]+={0,2})$/

const readSecret = (secret: string): Buffer => Buffer.from(secretForm.exec(secret)?.[1] ?? '', 'base64')

/** Why a text cannot be the secret of a webhook, or undefined if it can. */
export const findWebhookSecretFault = (secret: string): string | undefined => {
  const { length } = readSecret(secret)
  return length >= 24 && length <= 64 ? undefined : 'must be whsec_ and the base64 text of 24 to 64 random bytes'
}

/** The headers of Standard Webhooks, which bind the body to an id and a time, so that a replay can be recognised. */
const signWebhook = (secret: string, body: Uint8Array, clock: Clock): Readonly<Record<string, string>> => {
  const id = `msg_${newOpaqueToken()}`
  const timestamp = String(epochSeconds(clock))
  const mac = createHmac('sha256', readSecret(secret)).update(`${id}.${timestamp}.`).update(body).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${mac}` }
}

/** Requests to services of the deployer. */
export interface Outbound {
  readonly fetch: OutboundFetch
  readonly request: OutboundRequest
  /**
   * POSTs a signed query. Returns the answer, or undefined when a response of status 200 is not a JSON object, has a
   * repeated member, or is nested deeper than 32. Throws `Unavailable` when there is no answer.
   */
  ask(webhook: Webhook, question: JsonObject, signal: AbortSignal): Promise<JsonObject | undefined>
}

export const createOutbound = (fetch: OutboundFetch, request: OutboundRequest, clock: Clock): Outbound => ({
  fetch,
  request,
  async ask({ url, secret }, question, signal) {
    const bytes = Buffer.from(JSON.stringify(question))
    const body = { contentType: 'application/json', bytes, headers: signWebhook(secret, bytes, clock) }
    return parseStrictJsonObject(await fetch(url, 'application/json', { body, signal }))
  },
})
