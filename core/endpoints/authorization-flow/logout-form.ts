import { csrfToken } from '../../interaction/csrf.js'
import type { Cookies } from '../../interaction/cookies.js'
import type { Session } from '../../interaction/session.js'
import type { EndpointRequest } from '../message.js'

/** For the form that signs out at `/logout`, valid for the session that saw the page. */
export const logoutCsrf = (http: EndpointRequest, cookies: Cookies, { sid }: Session): string =>
  csrfToken(http.cookie(cookies.session) ?? '', 'logout', sid)
