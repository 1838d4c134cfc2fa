import { createHmac } from 'node:crypto'
import { isSameText } from '../oauth/same-text.js'

/**
 * The hidden field of a form. Only the holder of the browser's cookie can have obtained it, and it is valid for one
 * page of one interaction. `page` says what was shown, so that the form decides nothing else.
 */
export const csrfToken = (browserCookie: string, interactionId: string, page: string): string =>
  createHmac('sha256', browserCookie).update(`${interactionId}\n${page}`).digest('base64url')

/** Compares in constant time. */
export const isCsrfToken = (expected: string, sent: string | undefined): boolean =>
  sent !== undefined && isSameText(expected, sent)
