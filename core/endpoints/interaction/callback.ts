import { OAuthError } from '../../oauth/errors.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { AuthorizationOptions } from '../authorization-flow/options.js'
import type { Declaration } from '../endpoint.js'
import { redirect, type Handler } from '../message.js'
import type { SignInParts } from './sign-in-parts.js'
import { visitOf } from './sign-in-visit.js'
import { stepUrl } from './login-address.js'

/** GET `/sign-in/{method}/callback`: where a browser comes back to from a method that is somewhere else. */
export const signInCallback = {
  path: '/sign-in/{method}/callback',
  methods: ['GET'],
  body: 'none',
  errorTitle: 'Sign-in error',
  limit: { byAddress: 'interaction', byRefusals: false },
} as const satisfies Declaration

const over = (): never => {
  throw new OAuthError(
    'invalid_request',
    'This sign-in has ended or belongs to another browser. Start again from the application.',
  )
}

/** Nothing in the address says where to go next: the browser's own attempt does. */
export const createSignInCallback = (options: AuthorizationOptions, flow: Flow, parts: SignInParts): Handler => {
  const { attempts, complete } = parts
  return async (http) => {
    const { values, repeated } = http.query
    if (repeated.size > 0) throw new OAuthError('invalid_request', 'A parameter was sent more than once.')
    const method = options.methods.get(http.path.get('method') ?? '')
    if (method?.kind !== 'redirect') return over()
    const browserCookie = http.cookie(flow.cookies.browser)
    const id = values.get('state')
    const redeemed = await attempts.redeem(id, { browserCookie, method: method.id })
    if (redeemed.outcome === 'unknown' || id === undefined || browserCookie === undefined) return over()
    // A reload, or a second tab: the person may be signed in by now, and goes on.
    if (redeemed.outcome === 'used') return redirect(flow.interactions.pageUrl(redeemed.interactionId, 'login'))
    const { attempt } = redeemed
    const purpose = await flow.interactions.find(attempt.interactionId, browserCookie)
    if (purpose === undefined) return over()
    const own = { http, interactionId: attempt.interactionId, browserCookie, purpose }
    const visit = await visitOf(own, options)
    const step = await complete(visit, { method, answer: Object.fromEntries(values), attempt: { ...attempt, id } })
    return redirect(stepUrl(flow.interactions, own, step), step.outcome === 'signed-in' ? step.cookies : [])
  }
}
