import type { StandardSchemaV1 } from '@standard-schema/spec'
import { checkDecision } from './check-decision.js'
import { askPlugin } from './ask-plugin.js'
import { OAuthError } from '../errors.js'
import type { GrantDecision, GrantHandler, GrantRequest } from './grant.js'

/** Parameters that the core reads itself. A grant's own schema does not see them. */
const ofTheCore: ReadonlySet<string> = new Set([
  'grant_type',
  'client_id',
  'scope',
  'resource',
  'audience',
  'authorization_details',
])
const credentials = ['client_secret', 'client_assertion', 'client_assertion_type']

/** Returns the form without the client's credentials. */
export const withoutCredentials = (params: ReadonlyMap<string, string>): ReadonlyMap<string, string> => {
  if (!credentials.some((name) => params.has(name))) return params
  const others = new Map(params)
  for (const name of credentials) others.delete(name)
  return others
}

/** Throws `unauthorized_client` when the grant requires another authentication than `method` (RFC 6749 §5.2). */
export const checkClientAuthentication = (handler: GrantHandler, method: string): void => {
  const { clientAuthentication: wanted } = handler
  if (wanted === undefined || (wanted === 'confidential' ? method !== 'none' : wanted.includes(method))) return
  throw new OAuthError('unauthorized_client', 'The client may not use this grant type.', {
    reason: 'the grant requires another client authentication method',
  })
}

type Schema = NonNullable<GrantHandler['params']>

const readInput = async (schema: Schema, params: ReadonlyMap<string, string>): Promise<unknown> => {
  const own = Object.fromEntries([...params].filter(([name]) => !ofTheCore.has(name)))
  const result = await schema['~standard'].validate(own)
  if (result.issues === undefined) return result.value
  const names = namesOf(result.issues)
  // A name that was not sent comes from the schema, and is not a text of the caller's.
  const missing = names.find((name) => !params.has(name))
  const description =
    missing === undefined ? 'A parameter of the grant is malformed.' : `The parameter ${missing} is missing.`
  throw new OAuthError('invalid_request', description, {
    reason: `parameters refused: ${names.length === 0 ? String(result.issues.length) : names.slice(0, 10).join(', ')}`,
  })
}

/** Returns the names only, because values may be secrets. */
const namesOf = (issues: readonly StandardSchemaV1.Issue[]): readonly string[] => {
  const names = issues.map(({ path: [first] = [] }) => String(typeof first === 'object' ? first.key : (first ?? '')))
  return [...new Set(names)].filter((name) => /^[\w.-]{1,64}$/.test(name))
}

/**
 * Calls the handler and checks that its result is a decision. Throws what the handler refuses with, the reason of
 * `request.signal` when it is aborted first, and `Error` for a handler that throws anything else or returns an
 * invalid decision.
 */
export const runGrant = async (handler: GrantHandler, request: Omit<GrantRequest, 'input'>): Promise<GrantDecision> => {
  const decision = await askPlugin('a grant plugin', request.signal, async () => {
    const input = handler.params && (await readInput(handler.params, request.params))
    return handler.handle({ ...request, input })
  })
  return checkDecision(decision, request)
}
