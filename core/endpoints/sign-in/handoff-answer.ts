import { epochSeconds, type Clock } from '../../clock.js'
import { parseStrictJsonObject } from '../../jose/strict-json.js'
import { readHandoffAnswer, type HandoffAnswer, type Handoffs } from '../../interaction/handoffs.js'
import type { AccountLookup } from '../../oauth/account.js'
import { OAuthError } from '../../oauth/errors.js'
import type { AuditLog } from '../../observe/audit.js'
import { json, type EndpointRequest, type Handler } from '../message.js'

export interface HandoffAnswerOptions {
  readonly handoffs: Pick<Handoffs, 'find' | 'answer'>
  readonly accounts?: AccountLookup | undefined
  readonly audit: AuditLog
  readonly clock: Clock
  readonly toleranceSeconds: number
}

type Verb = Parameters<typeof readHandoffAnswer>[0]

const read = (verb: Verb, { body }: EndpointRequest): HandoffAnswer => {
  const parsed = body === undefined ? undefined : parseStrictJsonObject(body)
  const answer = parsed && readHandoffAnswer(verb, parsed)
  if (answer === undefined)
    throw new OAuthError('invalid_request', `The body is not what POST /interactions/{id}/${verb} takes.`)
  return answer
}

/**
 * `POST /interactions/{id}/sign-in` and `…/refuse` of the admin listener: the organisation's own service says who signed in, or that
 * nobody did. Answers `{ redirect_to }`, which is of use only in the browser that was handed off.
 */
export const createHandoffAnswer = ({ handoffs, accounts, audit, clock, toleranceSeconds }: HandoffAnswerOptions) => {
  const check = async (answer: HandoffAnswer, signal: AbortSignal): Promise<void> => {
    if (answer.outcome !== 'passed') return
    if (answer.auth_time !== undefined && answer.auth_time > epochSeconds(clock) + toleranceSeconds)
      throw new OAuthError('invalid_request', 'auth_time is in the future.')
    if (answer.claims === undefined && (await accounts?.find(answer.subject, signal)) === undefined)
      throw new OAuthError('invalid_request', 'The subject is no account, and the answer has no claims for a new one.')
  }

  return (verb: Verb): Handler =>
    async (http) => {
      const id = http.path.get('id') ?? ''
      const answer = read(verb, http)
      const open = await handoffs.find(id)
      if (open === undefined)
        throw new OAuthError('invalid_request', 'No such sign-in waits for an answer.', { status: 404 })
      await check(answer, http.signal)
      if (!(await handoffs.answer(id, answer)))
        throw new OAuthError('invalid_request', 'This sign-in has an answer already.', { status: 409 })
      const sub = answer.outcome === 'passed' ? answer.subject : undefined
      const { outcome } = answer
      await audit.record({ event: 'handoff.answered', request_id: http.requestId, method: open.method, outcome, sub })
      return json(200, { redirect_to: open.finishUrl })
    }
}
