import { z } from 'zod'
import type { JsonObject } from '../json.js'
import type { AuthorizationDetail } from '../oauth/authorization-details.js'
import type { GrantedConsent } from '../oauth/narrow-request.js'
import { hashOpaqueToken, isOpaqueToken } from '../opaque-token.js'
import type { RecordLookup } from '../storage/ports.js'

const word = z.string().min(1).max(255)

/** Body of `POST /interactions/{id}/sign-in`. */
const signIn = z.strictObject({
  /** OIDC Core §2: at most 255 ASCII characters. */
  subject: z.string().regex(/^[\x21-\x7e]{1,255}$/),
  acr: word.optional(),
  amr: z.array(word).max(16).default([]),
  /** Seconds since the epoch. */
  auth_time: z.int().min(0).optional(),
  username: word.optional(),
  claims: z
    .record(z.string().min(1).max(255), z.json())
    .refine((claims) => !('sub' in claims))
    .optional(),
})

/** Body of `POST /interactions/{id}/consent`. What it does not name is not granted. */
const consent = z.strictObject({
  /** Separated by spaces (RFC 6749 §3.3). */
  scope: z
    .string()
    .max(4096)
    .transform((scope) => scope.split(' ').filter((one) => one !== '')),
  /** Names of personal claims. */
  claims: z.array(word).max(100).default([]),
  authorization_details: z
    .array(z.looseObject({ type: z.string() }))
    .max(10)
    .default([]),
})

/** Body of `POST /interactions/{id}/refuse`. */
const refusal = z.strictObject({ reason: word.optional() })

/** The last segment of the address where the service answers. */
export type HandoffVerb = 'sign-in' | 'consent' | 'refuse'

/** What the organisation's own service says of a person who was handed off to it. */
export type HandoffAnswer =
  | ({ readonly outcome: 'passed' } & Readonly<z.output<typeof signIn>>)
  | ({ readonly outcome: 'allowed' } & GrantedConsent)
  | { readonly outcome: 'refused'; readonly reason?: string | undefined }

/** The answer in a JSON body; undefined for anything else. */
export const readHandoffAnswer = (verb: HandoffVerb, body: JsonObject): HandoffAnswer | undefined => {
  if (verb === 'consent') {
    const read = consent.safeParse(body)
    if (!read.success) return undefined
    const { scope, claims, authorization_details: details } = read.data
    return { outcome: 'allowed', scope, claims, authorizationDetails: details as readonly AuthorizationDetail[] }
  }
  if (verb === 'refuse') {
    const read = refusal.safeParse(body)
    return read.success ? { outcome: 'refused', ...read.data } : undefined
  }
  const read = signIn.safeParse(body)
  return read.success ? { outcome: 'passed', ...read.data } : undefined
}

/** Whose consent to what is asked for. */
export interface AskedConsent {
  readonly interactionId: string
  readonly clientId: string
  readonly subject: string
}

/** A sign-in, or a consent, that the organisation's own service is asked for. */
export interface OpenHandoff {
  /** Id of the method. */
  readonly method: string
  /** Where the browser goes when there is an answer: its own cookie goes on there. */
  readonly finishUrl: string
  /** Absent: a sign-in. */
  readonly consent?: AskedConsent
}

export interface HandoffRecord {
  readonly open?: OpenHandoff
  readonly answer?: HandoffAnswer
}

/** Sign-ins and consents that were handed off, by the id of their attempt. Every member throws `Unavailable`. */
export interface Handoffs {
  /** Lets the service answer, once, for as long as an attempt lasts. */
  open(attemptId: string, handoff: OpenHandoff): Promise<void>
  /** Undefined when malformed, unknown or over. */
  find(attemptId: string): Promise<OpenHandoff | undefined>
  /** False for every answer but the first. */
  answer(attemptId: string, answer: HandoffAnswer): Promise<boolean>
  findAnswer(attemptId: string): Promise<HandoffAnswer | undefined>
}

const ttlSeconds = 600

const openId = (id: string): string => `open.${hashOpaqueToken(id)}`
const answerId = (id: string): string => `answer.${hashOpaqueToken(id)}`

export const createHandoffs = (store: RecordLookup<HandoffRecord>): Handoffs => ({
  async open(id, open) {
    await store.put(openId(id), { open }, { ttlSeconds })
  },
  find: async (id) => (isOpaqueToken(id) ? (await store.find(openId(id)))?.open : undefined),
  answer: (id, answer) => store.put(answerId(id), { answer }, { ttlSeconds, onlyIfAbsent: true }),
  findAnswer: async (id) => (await store.find(answerId(id)))?.answer,
})
