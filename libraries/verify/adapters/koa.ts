import type { IncomingMessage } from 'node:http'
import { VerificationError } from '../refusal.js'
import { checkAdapter, headersFor, type Checker } from './checker.js'

/** The members of Koa's context that the adapter uses. */
export interface KoaContext {
  readonly req: IncomingMessage
  readonly originalUrl: string
  readonly state: Record<string, unknown>
  status: number
  body: unknown
  set(headers: Record<string, string>): void
}

/** Middleware for Koa. Mount it before every body parser. The checker's result is in `ctx.state[name]`. */
export const forKoa = (checker: Checker<unknown>, name = 'device') => {
  checkAdapter(checker, name)
  return async (context: KoaContext, next: () => Promise<unknown>): Promise<void> => {
    try {
      const found = await checker.check(context.req, { target: context.originalUrl })
      context.set({ ...headersFor(found) })
      context.state[name] = found
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
      context.status = error.answer.status
      context.set({ ...error.answer.headers })
      context.body = error.answer.body
      return
    }
    await next()
  }
}
