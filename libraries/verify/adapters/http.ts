import type { IncomingMessage, ServerResponse } from 'node:http'
import { kinds } from '../../wire/options.js'
import { answerRefusal, checkAdapter, headersFor, type Checker } from './checker.js'

/**
 * A listener for `node:http` that calls `handler` with the checker's result, only for requests that pass. An error of
 * the handler is an unhandled rejection, as with any asynchronous listener.
 */
export const forHttp = <T>(
  checker: Checker<T>,
  handler: (request: IncomingMessage, response: ServerResponse, found: T) => void | Promise<void>,
) => {
  checkAdapter(checker)
  if (!kinds.call(handler)) throw new TypeError('handler is not a function')
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let found: T
    try {
      found = await checker.check(request)
    } catch (error) {
      answerRefusal(error, response)
      return
    }
    for (const [header, value] of Object.entries(headersFor(found))) response.setHeader(header, value)
    await handler(request, response, found)
  }
  return (request: IncomingMessage, response: ServerResponse): void => {
    void answer(request, response)
  }
}
