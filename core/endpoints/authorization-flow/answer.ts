import type { Pages } from '../../interaction/pages/pages.js'
import type { AnswerTarget } from '../../oauth/authorization-request.js'
import type { OAuthError } from '../../oauth/errors.js'
import { page, redirect, type Reply } from '../message.js'

/** Answers to the client, by way of the browser (RFC 6749 §4.1.2, OAuth 2.0 Form Post Response Mode §2). */
export interface Answers {
  granted(target: AnswerTarget, code: string, cookies?: readonly string[]): Reply
  refused(target: AnswerTarget, error: OAuthError, cookies?: readonly string[]): Reply
}

/** `iss` stands in every answer, so that no client takes another server's for ours (RFC 9207 §2). */
export const createAnswers = (issuer: string, pages: Pages): Answers => {
  const answer = (
    target: AnswerTarget,
    result: Readonly<Record<string, string>>,
    cookies?: readonly string[],
  ): Reply => {
    const { redirectUri, responseMode, state } = target
    const parameters = { ...result, ...(state !== undefined && { state }), iss: issuer }
    if (responseMode === 'form_post') return page(200, pages.formPost({ action: redirectUri, parameters }), cookies)
    return redirect(withQuery(redirectUri, parameters), cookies)
  }
  return {
    granted: (target, code, cookies) => answer(target, { code }, cookies),
    refused: (target, { code, description }, cookies) =>
      answer(target, { error: code, error_description: description }, cookies),
  }
}

/** Appended to the URI as it is registered: a URL parser would rewrite it. */
const withQuery = (uri: string, parameters: Readonly<Record<string, string>>): string => {
  const query = Object.entries(parameters).map(([name, value]) => `${name}=${encodeURIComponent(value)}`)
  return `${uri}${uri.includes('?') ? '&' : '?'}${query.join('&')}`
}
