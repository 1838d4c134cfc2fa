import type { IncomingMessage, ServerResponse } from 'node:http'
import { answerRefusal, checkAdapter, bytesIn, headersFor, type Checker } from './checker.js'

/**
 * Middleware for Express and Connect. Mount it before every body parser except `express.raw()`. The checker's result
 * is in `request[name]`.
 */
export const forExpress = (checker: Checker<unknown>, name = 'device') => {
  checkAdapter(checker, name)
  return (request: IncomingMessage, response: ServerResponse, next: (error?: unknown) => void): void => {
    const { originalUrl, body } = request as IncomingMessage & { originalUrl?: string; body?: unknown }
    checker
      .check(request, { ...(originalUrl !== undefined && { target: originalUrl }), ...bytesIn(body) })
      .then((found) => {
        for (const [header, value] of Object.entries(headersFor(found))) response.setHeader(header, value)
        Object.assign(request, { [name]: found })
      })
      .then(next, (error: unknown) => {
        answerRefusal(error, response)
      })
      .catch(next)
  }
}
