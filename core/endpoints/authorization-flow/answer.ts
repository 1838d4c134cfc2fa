import { formPostPage } from '../../interaction/pages/form-post-page.js'
import { leavingPage } from '../../interaction/pages/leaving-page.js'
import type { SignaturePriority } from '../../keys/ports.js'
import type { AnswerTarget, ResponseMode } from '../../oauth/requests/authorization-request.js'
import type { Client } from '../../oauth/clients/client.js'
import type { OAuthError } from '../../oauth/errors.js'
import { isSignedMode } from '../../oauth/requests/response-mode.js'
import { page, redirect, type EndpointRequest, type Reply } from '../message.js'
import type { CommonOptions, RequestRules } from './options.js'
import { clientOnPage } from './page-form.js'
import { pagesFor } from './pages-for.js'
import { canSignResponses, responseAlgOf } from './response-alg.js'
import { withFragment, withQuery } from './with-query.js'

/** The client that an answer is for. */
export interface Recipient {
  readonly http: EndpointRequest
  readonly client: Client
  readonly request: AnswerTarget
}

/**
 * Answers to the client through the browser (RFC 6749 §4.1.2, OAuth 2.0 Form Post Response Mode §2, JARM §2). Signed
 * answers can throw `Unavailable`, so they are made before anything is consumed.
 */
export interface Answers {
  granted(to: Recipient, code: string): Promise<Reply>
  /** `how`: at once, or through a page that asks the person first. */
  refused(to: Recipient, error: OAuthError, how: 'at once' | 'asked'): Promise<Reply>
}

type Parameters = Readonly<Record<string, string>>

type AnswerOptions = Pick<CommonOptions, 'issuer' | 'pages' | 'audit' | 'tokens'> &
  Pick<RequestRules, 'responseAlg' | 'responseAlgs'>

/** In the query, or in the fragment for a script at the client; no redirect URI has a fragment. */
const withAnswer = (uri: string, mode: ResponseMode, parameters: Parameters): string =>
  mode.startsWith('fragment') ? withFragment(uri, parameters) : withQuery(uri, parameters)

/** Every answer has `iss`, so that no client takes another server's answer for ours (RFC 9207 §2). */
export const createAnswers = (options: AnswerOptions): Answers => {
  const { issuer, pages, audit, tokens } = options

  /** The only parameter of a signed answer, which contains all others (JARM §2.3). */
  const signed = async (
    { http, client }: Recipient,
    response: Parameters,
    priority: SignaturePriority,
  ): Promise<Parameters> => {
    const alg = responseAlgOf(client, options)
    const made = await tokens.signAuthorizationResponse(client, alg, response, { priority, signal: http.signal })
    await audit.record({
      event: 'authorization.signed',
      request_id: http.requestId,
      client_id: client.client_id,
      signatures: [{ ...made.record }],
    })
    return { response: made.token }
  }

  /** The same answer behind a link or a button. */
  const askFirst = ({ http, client, request }: Recipient, parameters: Parameters): Reply => {
    const { redirectUri, responseMode, locale } = request
    const spoken = pagesFor(pages, http, locale)
    const to = responseMode.startsWith('form_post')
      ? { url: redirectUri, parameters }
      : { url: withAnswer(redirectUri, responseMode, parameters) }
    return page(200, spoken.show(leavingPage, { client: clientOnPage(client, redirectUri), ...to }), spoken.language)
  }

  const answer = async (
    to: Recipient,
    result: Parameters,
    priority: SignaturePriority,
    how: 'at once' | 'asked',
  ): Promise<Reply> => {
    const { redirectUri, responseMode, state, locale } = to.request
    const response = { ...result, ...(state !== undefined && { state }) }
    const isSigned = isSignedMode(responseMode) && canSignResponses(to.client, options)
    const parameters = isSigned ? await signed(to, response, priority) : { ...response, iss: issuer }
    if (how === 'asked') return askFirst(to, parameters)
    if (responseMode.startsWith('form_post')) {
      const spoken = pagesFor(pages, to.http, locale)
      return page(
        200,
        spoken.show(formPostPage, { clientId: to.client.client_id, action: redirectUri, parameters }),
        spoken.language,
      )
    }
    return redirect(withAnswer(redirectUri, responseMode, parameters))
  }

  return {
    granted: (to, code) => answer(to, { code }, 'sign_in', 'at once'),
    // Possibly nobody is signed in, so this one asks those who are first.
    refused: (to, { code, description }, how) =>
      answer(to, { error: code, error_description: description }, 'machine', how),
  }
}
