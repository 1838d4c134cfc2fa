import { OAuthError } from '../../oauth/errors.js'
import type { SignInMethod } from '../../interaction/sign-in-method.js'
import { isOpaqueToken } from '../../opaque-token.js'
import { refuseOver, type Flow } from '../authorization-flow/flow.js'
import type { SignInMethods, CommonOptions } from '../authorization-flow/options.js'
import type { Declaration } from '../endpoint.js'
import { redirect, type EndpointRequest, type Handler } from '../message.js'
import type { SignInParts } from './sign-in-parts.js'
import { contextOf } from './sign-in-context.js'
import { stepUrl } from './login-address.js'

/** GET `/sign-in/{method}/callback`: where a browser returns from a method that is elsewhere. */
export const signInCallback = {
  path: '/sign-in/{method}/callback',
  methods: ['GET'],
  body: 'none',
  errorTitle: 'sign_in_error',
  limit: { byAddress: 'interaction', byRefusals: false },
} as const satisfies Declaration

type Options = Pick<SignInMethods, 'methods'> & Pick<CommonOptions, 'clients' | 'refusals'>

/** Nothing in the address decides where to go next; the browser's own attempt does. */
export const createSignInCallback = (options: Options, flow: Flow, parts: SignInParts): Handler => {
  const { attempts, run, complete } = parts

  const refuse = async (http: EndpointRequest, method: SignInMethod, why: string): Promise<never> => {
    await options.refusals.record(http, { event: 'login.refused', method: method.id, why })
    return refuseOver()
  }

  return async (http) => {
    const { values, repeated } = http.query
    if (repeated.size > 0) throw new OAuthError('invalid_request', 'A parameter was sent more than once.')
    const method = options.methods.get(http.path.get('method') ?? '')
    if (method?.kind !== 'redirect') return refuseOver()
    const browserCookie = http.cookie(flow.cookies.browser)
    const id = values.get('state')
    if (!isOpaqueToken(id)) return refuseOver()
    const answer = Object.fromEntries(values)
    // Checked before anything is used up: whoever starts a sign-in knows its callback, but only someone who was there
    // has the answer.
    const fault = await run.findFault(http, method, id, answer)
    if (fault !== undefined) return refuse(http, method, fault)
    const redeemed = await attempts.redeem(id, { browserCookie, method: method.id })
    if (redeemed.outcome === 'unknown' || browserCookie === undefined)
      return refuse(http, method, 'the browser did not begin this sign-in, or it is over')
    // After a reload or in a second tab, the person may be signed in already, and continues.
    if (redeemed.outcome === 'used') return redirect(flow.interactions.pageUrl(redeemed.interactionId, 'login'))
    const { attempt } = redeemed
    const purpose = await flow.interactions.find(attempt.interactionId, browserCookie)
    if (purpose === undefined) return refuseOver()
    const own = { http, interactionId: attempt.interactionId, browserCookie, purpose }
    const visit = await contextOf(own, options)
    const step = await complete(visit, { method, answer, attempt: { ...attempt, id } })
    return redirect(stepUrl(flow.interactions, own, step), step.outcome === 'signed-in' ? step.cookies : [])
  }
}
