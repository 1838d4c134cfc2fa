import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { VerificationError } from '../refusal.js'
import { checkAdapter, headersFor, type Checker } from './checker.js'

/** The members of a Fastify reply that the adapter uses. */
export interface FastifyReply {
  code(status: number): this
  headers(headers: Record<string, string>): this
  send(body: string): this
}

/** A `preParsing` hook for Fastify. The checker's result is in `request[name]`; Fastify parses the body as usual. */
export const forFastify = (checker: Checker<unknown>, name = 'device') => {
  checkAdapter(checker, name)
  return async (request: { readonly raw: IncomingMessage }, reply: FastifyReply): Promise<Readable | undefined> => {
    try {
      const found = await checker.check(request.raw)
      reply.headers({ ...headersFor(found) })
      Object.assign(request, { [name]: found })
      const { body } = found as { readonly body?: Uint8Array }
      return body && Object.assign(Readable.from([body], { objectMode: false }), { receivedEncodedLength: body.length })
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
      reply
        .code(error.answer.status)
        .headers({ ...error.answer.headers })
        .send(error.answer.body)
      return undefined
    }
  }
}
