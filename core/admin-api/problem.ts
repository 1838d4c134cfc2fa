import { STATUS_CODES } from 'node:http'
import { z } from 'zod'
import type { Refusal } from '../administration/administration.js'
import type { Reply } from '../endpoints/message.js'

/** One fault of a request or an object: `path` names the member. */
const fault = z.object({ path: z.string(), message: z.string() })

/** A refusal as the API answers it (RFC 9457). `code` is for programs; `detail` is a sentence for people. */
export const problemDocument = z.object({
  type: z.literal('about:blank'),
  /** The phrase of the status (RFC 9457 §4.2.1). */
  title: z.string(),
  status: z.int(),
  detail: z.string(),
  code: z.string(),
  request_id: z.string(),
  errors: z.array(fault).optional(),
})

export const problemType = 'application/problem+json'

export interface ProblemDetails {
  readonly errors?: readonly z.output<typeof fault>[] | undefined
  readonly headers?: Readonly<Record<string, string>>
}

/** A request that the API refuses. Texts are constant, and have no secret. */
export class Problem extends Error {
  override readonly name = 'Problem'
  readonly status: number
  readonly code: string
  readonly details: ProblemDetails

  constructor(status: number, code: string, detail: string, details: ProblemDetails = {}) {
    super(detail)
    this.status = status
    this.code = code
    this.details = details
  }
}

/** The answer for a refused request. */
export const problemReply = ({ status, code, message, details }: Problem, requestId: string): Reply => ({
  status,
  headers: { 'Content-Type': problemType, 'Cache-Control': 'no-store', ...details.headers },
  body: JSON.stringify({
    type: 'about:blank',
    title: STATUS_CODES[status] ?? 'Error',
    status,
    detail: message,
    code,
    request_id: requestId,
    ...(details.errors !== undefined && { errors: details.errors }),
  }),
})

/** Status and sentence of each cause for which `core/administration` refuses something. */
const refusals: Readonly<Record<string, readonly [status: number, detail: string]>> = {
  unknown: [404, 'There is no such object.'],
  configured: [409, 'The object is in the configuration file, and only that can change it.'],
  changed_meanwhile: [412, 'The object was changed meanwhile. Read it again.'],
  exists: [409, 'An object with this id exists already.'],
  subject: [409, 'The id is the subject of a person, so it cannot be the id of a client.'],
  invalid: [400, 'The object is not valid.'],
  empty: [400, 'The request changes nothing.'],
  secret: [400, 'A secret is changed only by its own route.'],
  id: [400, 'An id cannot be changed.'],
  released: [409, 'The slot was released: its keys are in the configuration file.'],
  unknown_key: [404, 'The slot has no such key.'],
  ended: [409, 'The key has ended already.'],
  busy: [409, 'Another key of the slot is being withdrawn.'],
  already_revoked: [409, 'It is revoked already.'],
  not_revoked: [409, 'It is not revoked.'],
  no_approvals: [409, 'No plugin of the configuration lets people approve enrolments.'],
  off: [409, 'The configuration has this turned off.'],
  policy: [400, 'The configuration has no policy of this name.'],
  unknown_role: [400, 'There is no such role.'],
  more_than_own: [403, 'Nobody can give a permission that they do not have.'],
  name: [400, 'The name is not one that an operator can have.'],
  external: [409, 'An external service has this account, and only that can change it.'],
  taken: [409, 'The configuration has an account with this username.'],
  username_taken: [409, 'The username is taken.'],
  subject_taken: [409, 'The subject is taken.'],
  client: [409, 'There is a client with this id: its tokens would have the same subject.'],
  factor: [404, 'There is no such object.'],
  disabled: [409, 'The account is disabled.'],
  over: [409, 'It was decided already.'],
  expired: [409, 'It has expired.'],
  own: [403, 'Nobody approves an action of their own.'],
  twice: [409, 'You have approved it already.'],
  unknown_operator: [403, 'Only an operator with a passkey approves.'],
  not_permitted: [403, 'You lack the permission for the action.'],
  no_signature: [400, 'The assertion is none of your passkeys.'],
  unapproved_passkey: [403, 'Nobody has approved that this passkey was added.'],
  wrong_signature: [400, 'The assertion is not one for this document.'],
  too_many: [409, 'There are too many of them.'],
  has_credential: [409, 'The credential is taken, or the operator has one already.'],
  no_audit_file: [409, 'The audit log is printed to standard output, so there is no file to search.'],
  no_secret: [409, 'The client has no secret.'],
}

/** Throws the problem of a refusal, and returns any other result. */
export const unlessRefused = <T>(result: T): Exclude<T, Refusal> => {
  if (typeof result !== 'object' || result === null || !('refused' in result)) return result as Exclude<T, Refusal>
  const { refused, reason, problems } = result as unknown as Refusal & { readonly problems?: ProblemDetails['errors'] }
  const [status, detail] = refusals[refused] ?? [409, 'The object is in a state that does not permit this.']
  throw new Problem(status, refused, reason ?? detail, { errors: problems })
}
