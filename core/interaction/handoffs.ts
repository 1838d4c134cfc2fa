import { z } from 'zod'
import type { AuthorizationDetail } from '../oauth/requests/authorization-details.js'
import type { GrantedConsent } from '../oauth/requests/narrow-request.js'
import { isSameText } from '../oauth/same-text.js'
import { hashOpaqueToken, isOpaqueToken, newOpaqueToken } from '../opaque-token.js'
import type { RecordLookup } from '../storage/ports.js'

const word = z.string().min(1).max(255)

/** Body of `POST /interactions/{id}/sign-in`. */
const signIn = z.strictObject({
  /** OIDC Core §2: at most 255 ASCII characters. */
  subject: z.string().regex(/^[\x21-\x7e]{1,255}$/),
  acr: word.optional(),
  amr: z.array(word).max(16).default([]),
  /** This is in seconds since the epoch. */
  auth_time: z.int().min(0).optional(),
  username: word.optional(),
  /** The address of the browser as the service sees it, for the audit log only. */
  address: z.union([z.ipv4(), z.ipv6()]).optional(),
  claims: z
    .record(z.string().min(1).max(255), z.json())
    .refine((claims) => !('sub' in claims))
    .optional(),
})

/** Body of `POST /interactions/{id}/consent`. Anything that it does not name is not granted. */
const consent = z.strictObject({
  /** Scopes, separated by spaces (RFC 6749 §3.3). */
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

/** The last segment of the URL at which the service answers. */
export type HandoffVerb = 'sign-in' | 'consent' | 'refuse'

/** The answer of the organisation's own service about a person who was handed off to it. */
export type HandoffAnswer =
  | ({ readonly outcome: 'passed' } & Readonly<z.output<typeof signIn>>)
  | ({ readonly outcome: 'allowed' } & GrantedConsent)
  | { readonly outcome: 'refused'; readonly reason?: string | undefined }

/** Schemas of the JSON bodies of answers, by the last segment of the path. */
export const handoffAnswers = {
  'sign-in': signIn.transform((read) => ({ outcome: 'passed' as const, ...read })),
  consent: consent.transform(({ scope, claims, authorization_details: details }) => ({
    outcome: 'allowed' as const,
    ...{ scope, claims, authorizationDetails: details as readonly AuthorizationDetail[] },
  })),
  refuse: refusal.transform((read) => ({ outcome: 'refused' as const, ...read })),
} as const satisfies Readonly<Record<HandoffVerb, z.ZodType<HandoffAnswer>>>

/** The person whose consent is asked for, and what for. */
export interface RequestedConsent {
  readonly interactionId: string
  readonly clientId: string
  readonly subject: string
}

/** A sign-in or a consent that is requested from the organisation's own service. */
export interface OpenHandoff {
  /** The id of the method. */
  readonly method: string
  /** Where the browser goes once there is an answer. The secret of the answer is in the parameter `answer`. */
  readonly finishUrl: string
  /** The address of the browser that began a sign-in, for the audit log. */
  readonly address?: string
  /** Absent for a sign-in. */
  readonly consent?: RequestedConsent
}

export interface HandoffRecord {
  readonly open?: OpenHandoff
  readonly answer?: HandoffAnswer
  /** The hash of the secret that was created with the answer. */
  readonly secretHash?: string
}

export type FoundAnswer =
  | { readonly answer: HandoffAnswer }
  | { readonly fault: string; /** The service has not answered yet. */ readonly isPending?: true }

/** Sign-ins and consents that were handed off, by the id of their attempt. Every member throws `Unavailable`. */
export interface Handoffs {
  /** Lets the service answer once, for the lifetime of an attempt. */
  open(attemptId: string, handoff: OpenHandoff): Promise<void>
  /** Returns undefined for an id that is malformed, unknown or expired. */
  find(attemptId: string): Promise<OpenHandoff | undefined>
  /**
   * Returns a secret for the browser at the service only, because the browser that began the attempt knows the rest
   * of `finishUrl`. Returns undefined for every answer after the first, even for an identical one.
   */
  answer(attemptId: string, answer: HandoffAnswer): Promise<string | undefined>
  /**
   * Returns the answer for the secret that was issued with it, or why there is none: a constant text for the audit
   * log.
   */
  findAnswer(attemptId: string, secret: string | undefined): Promise<FoundAnswer>
}

const ttlSeconds = 600

const openId = (id: string): string => `open.${hashOpaqueToken(id)}`
const answerId = (id: string): string => `answer.${hashOpaqueToken(id)}`

export const createHandoffs = (store: RecordLookup<HandoffRecord>): Handoffs => ({
  async open(id, open) {
    await store.put(openId(id), { open }, { ttlSeconds })
  },
  find: async (id) => (isOpaqueToken(id) ? (await store.find(openId(id)))?.open : undefined),
  async answer(id, answer) {
    const secret = newOpaqueToken()
    const record = { answer, secretHash: hashOpaqueToken(secret) }
    return (await store.put(answerId(id), record, { ttlSeconds, onlyIfAbsent: true })) ? secret : undefined
  },
  async findAnswer(id, secret) {
    const { answer, secretHash } = (await store.find(answerId(id))) ?? {}
    if (answer === undefined) return { fault: 'the service has not answered', isPending: true }
    if (secret === undefined) return { fault: 'the secret of the answer is missing' }
    const isRight = secretHash !== undefined && isSameText(hashOpaqueToken(secret), secretHash)
    return isRight ? { answer } : { fault: 'the secret of the answer is wrong' }
  },
})
