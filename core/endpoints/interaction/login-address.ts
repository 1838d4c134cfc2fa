import type { Interactions } from '../../interaction/interaction.js'
import type { EndpointRequest } from '../message.js'
import { withQuery } from '../authorization-flow/with-query.js'
import type { SignInProblem } from '../../interaction/pages/login-page.js'
import type { SignInStep } from './start-sign-in.js'
import type { OwnInteraction } from './open-interaction.js'

const problems: ReadonlySet<string> = new Set<SignInProblem>(['wrong', 'locked', 'again', 'late', 'unavailable'])

/** The state of the login page in its address, to restore it after a method elsewhere. */
export interface LoginAddress {
  /** The method that is in front, or that has a problem. */
  readonly method?: string | undefined
  readonly problem?: SignInProblem | undefined
  /** Id of a pending second factor. */
  readonly attempt?: string | undefined
}

export const readLoginAddress = ({ query }: EndpointRequest): LoginAddress => {
  const problem = query.values.get('problem')
  return {
    method: query.values.get('method'),
    problem: problem !== undefined && problems.has(problem) ? (problem as SignInProblem) : undefined,
    attempt: query.values.get('attempt'),
  }
}

/** The address after a step. The browser is redirected, so that a reload sends nothing again. */
export const stepUrl = (interactions: Interactions, { interactionId }: OwnInteraction, step: SignInStep): string => {
  const page = interactions.pageUrl(interactionId, 'login')
  if (step.outcome === 'signed-in') return page
  if (step.outcome === 'problem') return withQuery(page, { method: step.method.id, problem: step.problem })
  const { id, prompt } = step.begun
  return prompt.kind === 'redirect' ? prompt.url : withQuery(page, { attempt: id })
}
