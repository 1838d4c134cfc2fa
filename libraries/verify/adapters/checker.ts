import type { IncomingMessage, ServerResponse } from 'node:http'
import { checkMembers, kinds } from '../../wire/options.js'
import type { Given } from '../message.js'
import { VerificationError } from '../refusal.js'

/** What an adapter runs before a framework's handlers: a verifier of devices or of access tokens. */
export interface Checker<T> {
  check(request: IncomingMessage, given?: Given): Promise<T>
}

/** Throws a `TypeError`, so that a mistake in the set-up is found at the start and not by the first request. */
export const checkAdapter = (checker: unknown, name?: unknown): void =>
  checkMembers('adapter', { checker, name }, { checker: kinds.withMethods('check'), name: kinds.name }, ['checker'])

/** Answers a refusal of a checker, and rethrows any other error. */
export const answerRefusal = (error: unknown, response: ServerResponse): void => {
  if (!(error instanceof VerificationError)) throw error
  const { status, headers, body } = error.answer
  response.writeHead(status, headers).end(body)
}

/** The bytes of a body that an earlier parser left unchanged, such as `express.raw()`. */
export const bytesIn = (body: unknown): { readonly body?: Uint8Array } => (body instanceof Uint8Array ? { body } : {})

/** The headers that a checker adds to every answer. */
export const headersFor = (found: unknown): Readonly<Record<string, string>> =>
  (found as { readonly headers?: Readonly<Record<string, string>> }).headers ?? {}
