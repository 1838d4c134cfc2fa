import type { AuthorizationRequest } from '../../oauth/authorization-request.js'
import type { Client } from '../../oauth/client.js'
import { OAuthError } from '../../oauth/errors.js'
import type { ParameterList } from '../../oauth/params.js'
import type { AuthorizeOptions } from './options.js'

export interface StepInput {
  readonly params: ParameterList
  readonly client: Client
  /** What the steps before have found. */
  readonly request: AuthorizationRequest
  readonly options: AuthorizeOptions
}

export type Found = Partial<AuthorizationRequest>

/** Checks one parameter and says what it adds to the request. Throws `OAuthError`, which goes to the client, or `Unavailable`. */
export type Step = (input: StepInput) => Found | Promise<Found>

export const nothing: Found = {}

export const invalidRequest = (description: string): never => {
  throw new OAuthError('invalid_request', description)
}
