import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkMembers, kinds } from '../../wire/options.js'
import type { Given } from '../message.js'
import { VerificationError } from '../refusal.js'

/** What an adapter puts before the handlers of a framework: a verifier of devices, or of access tokens. */
export interface Checker<T> {
  check(request: IncomingMessage, given?: Given): Promise<T>
}

/** Throws a `TypeError`: a mistake in the set-up is found at the start, not by the first request. */
export const checkAdapter = (checker: unknown, name?: unknown): void =>
  checkMembers('adapter', { checker, name }, { checker: kinds.withMethods('check'), name: kinds.name }, ['checker'])

/** Answers what a checker refused; throws everything else. */
export const answerRefusal = (error: unknown, response: ServerResponse): void => {
  if (!(error instanceof VerificationError)) throw error
  const { status, headers, body } = error.answer
  response.writeHead(status, headers).end(body)
}

/** The bytes of a body that a parser before the adapter has left as they were, such as `express.raw()`. */
export const bytesIn = (body: unknown): { readonly body?: Uint8Array } => (body instanceof Uint8Array ? { body } : {})

/** The headers that a checker wants in the answer, whatever it is. */
export const headersFor = (found: unknown): Readonly<Record<string, string>> =>
  (found as { readonly headers?: Readonly<Record<string, string>> }).headers ?? {}
