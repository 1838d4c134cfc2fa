import { createHmac } from 'node:crypto'
import { isSameText } from '../oauth/same-text.js'

/**
 * The hidden field of a form: only who holds the browser's cookie can have got it, and it is good for one page of one
 * interaction. `page` says what was shown, so that nothing else is decided by it.
 */
export const csrfToken = (browserCookie: string, interactionId: string, page: string): string =>
  createHmac('sha256', browserCookie).update(`${interactionId}\n${page}`).digest('base64url')

/** In constant time. */
export const isCsrfToken = (expected: string, sent: string | undefined): boolean =>
  sent !== undefined && isSameText(expected, sent)
