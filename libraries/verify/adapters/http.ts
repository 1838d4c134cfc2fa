import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerRefusal, type Checker } from './checker.js'

/** A listener for `node:http` that calls `handler` only for requests that the checker lets pass, with what it found. */
export const forHttp =
  <T>(
    checker: Checker<T>,
    handler: (request: IncomingMessage, response: ServerResponse, found: T) => void | Promise<void>,
  ) =>
  async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let found: T
    try {
      found = await checker.check(request)
    } catch (error) {
      if (!response.headersSent) answerRefusal(error, response)
      return
    }
    await handler(request, response, found)
  }
