import { z } from 'zod'
import { addressBucket } from '../../address-bucket.js'
import { epochSeconds, type Clock } from '../../clock.js'
import {
  handoffAnswers,
  type HandoffAnswer,
  type Handoffs,
  type HandoffVerb,
  type OpenHandoff,
} from '../../interaction/handoffs.js'
import type { Interaction } from '../../interaction/interaction.js'
import type { AccountLookup } from '../../oauth/subjects/account.js'
import type { AuthorizationDetailsTypes } from '../../oauth/requests/authorization-details.js'
import type { ClientDirectory } from '../../oauth/clients/client.js'
import { OAuthError } from '../../oauth/errors.js'
import { narrowRequest, type GrantedConsent } from '../../oauth/requests/narrow-request.js'
import type { AuditLog } from '../../observe/audit.js'
import type { OneTimeStore } from '../../storage/ports.js'
import { withQuery } from '../authorization-flow/with-query.js'
import type { Handler } from '../message.js'
import { answeringJson, type AdminDeclaration } from './admin-endpoint.js'

const declare = <Verb extends HandoffVerb>(verb: Verb) =>
  ({
    path: `/interactions/{id}/${verb}`,
    methods: ['POST'],
    body: 'json',
    permission: 'handoff.answer',
    // One service answers for everyone who signs in.
    limit: 'none',
    event: 'handoff.answered',
    input: handoffAnswers[verb] as z.ZodType<HandoffAnswer>,
    output: z.strictObject({ redirect_to: z.string() }),
  }) as const satisfies AdminDeclaration<HandoffAnswer>

/** `POST /interactions/{id}/sign-in`, `…/consent` and `…/refuse`. */
export const handoffEndpoints = {
  'sign-in': declare('sign-in'),
  consent: declare('consent'),
  refuse: declare('refuse'),
} as const

export interface HandoffAnswerOptions {
  readonly handoffs: Pick<Handoffs, 'find' | 'answer'>
  readonly accounts?: AccountLookup | undefined
  readonly interactions: Pick<OneTimeStore<Interaction>, 'find'>
  readonly clients: Pick<ClientDirectory, 'findEnabled'>
  readonly detailsTypes: AuthorizationDetailsTypes
  readonly defaultAudience: string
  readonly audit: AuditLog
  readonly clock: Clock
  readonly toleranceSeconds: number
}

const over = (): never => {
  throw new OAuthError('invalid_request', 'No such interaction waits for an answer.', { status: 404 })
}

const isOf = (verb: HandoffVerb, { consent }: OpenHandoff): boolean =>
  verb === 'refuse' || (verb === 'consent') === (consent !== undefined)

/**
 * The organisation's own service reports who signed in, what the person allows, or a refusal. Answers `{ redirect_to
 * }`, which works only in the browser that was handed off and is sent there.
 */
export const createHandoffAnswers = (options: HandoffAnswerOptions): Readonly<Record<HandoffVerb, Handler>> => {
  const { handoffs, accounts, audit, clock, toleranceSeconds } = options

  const checkConsent = async (
    { consent }: OpenHandoff,
    granted: GrantedConsent,
    signal: AbortSignal,
  ): Promise<void> => {
    if (consent === undefined) return over()
    const [interaction, client] = await Promise.all([
      options.interactions.find(consent.interactionId),
      options.clients.findEnabled(consent.clientId),
    ])
    if (interaction?.request === undefined || client === undefined) return over()
    const { detailsTypes: types, defaultAudience } = options
    await narrowRequest(interaction.request, granted, { client, types, defaultAudience, signal })
  }

  const check = async (open: OpenHandoff, answer: HandoffAnswer, signal: AbortSignal): Promise<void> => {
    if (answer.outcome === 'allowed') return checkConsent(open, answer, signal)
    if (answer.outcome !== 'passed') return
    if (answer.auth_time !== undefined && answer.auth_time > epochSeconds(clock) + toleranceSeconds)
      throw new OAuthError('invalid_request', 'auth_time is in the future.')
    if (answer.claims === undefined && (await accounts?.find(answer.subject, signal)) === undefined)
      throw new OAuthError('invalid_request', 'The subject is no account, and the answer has no claims for a new one.')
  }

  const answering = (verb: HandoffVerb) =>
    answeringJson(handoffEndpoints[verb], async (answer, http) => {
      const id = http.path.get('id') ?? ''
      const open = await handoffs.find(id)
      if (open === undefined || !isOf(verb, open)) return over()
      await check(open, answer, http.signal)
      const secret = await handoffs.answer(id, answer)
      if (secret === undefined)
        throw new OAuthError('invalid_request', 'This interaction has an answer already.', { status: 409 })
      const { method, consent } = open
      await audit.record({
        ...{ event: 'handoff.answered', request_id: http.requestId, method, outcome: answer.outcome },
        asked: consent === undefined ? 'sign-in' : 'consent',
        client_id: consent?.clientId,
        sub: answer.outcome === 'passed' ? answer.subject : consent?.subject,
        begun_at: open.address && addressBucket(open.address),
        address: answer.outcome === 'passed' && answer.address ? addressBucket(answer.address) : undefined,
        ...(answer.outcome === 'refused' && { reason: answer.reason }),
      })
      return { data: { redirect_to: withQuery(open.finishUrl, { answer: secret }) } }
    })
  return { 'sign-in': answering('sign-in'), consent: answering('consent'), refuse: answering('refuse') }
}
