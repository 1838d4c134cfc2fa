import type { AuthorizationRequest } from '../../oauth/requests/authorization-request.js'
import type { Client } from '../../oauth/clients/client.js'
import { OAuthError } from '../../oauth/errors.js'
import type { ParameterList } from '../../oauth/requests/params.js'
import type { RequestRules } from './options.js'

export type StepResult = Partial<AuthorizationRequest>

export interface StepInput {
  readonly params: ParameterList
  readonly client: Client
  readonly rules: RequestRules
  readonly signal: AbortSignal
  /** The results of earlier steps. */
  readonly before: StepResult
}

/**
 * Checks one parameter and returns what it adds to the request. Throws `OAuthError`, which goes to the client, or
 * `Unavailable`.
 */
export type Step = (input: StepInput) => StepResult | Promise<StepResult>

export const nothing: StepResult = {}

export const invalidRequest = (description: string): never => {
  throw new OAuthError('invalid_request', description)
}
