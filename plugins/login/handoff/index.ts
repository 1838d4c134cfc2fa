import {
  definePlugin,
  epochSeconds,
  type JsonObject,
  type SignInAttempt,
  type SignInMethod,
  type SignInResult,
} from '../../../core/api/index.js'
import { createAskedAccounts } from './asked-accounts.js'
import { options, type HandoffOptions } from './options.js'

/** Seconds for which the service may take the request. */
const requestSeconds = 300

const list = (values: readonly string[]): string | undefined => (values.length === 0 ? undefined : values.join(' '))

/** What was not asked for is left out. */
const described = ({ id, request }: SignInAttempt): JsonObject =>
  JSON.parse(
    JSON.stringify({
      interaction: id,
      client_id: request.clientId,
      client_name: request.clientName,
      scope: list(request.scopes),
      acr_values: list(request.acrValues),
      max_age: request.maxAge,
      prompt: request.prompt,
      login_hint: request.loginHint,
      ui_locales: list(request.uiLocales),
    }),
  ) as JsonObject

/** People sign in at the organisation's own service, which answers on the admin listener. */
export default definePlugin({
  name: 'handoff',
  apiVersion: 1,
  options,
  needs: ['clock', 'issuer', 'outbound', 'signedRequests', 'handoffs', 'externalAccounts', 'clockToleranceSeconds'],
  create: (configured: HandoffOptions, services) => {
    const { clock, issuer, signedRequests, handoffs, externalAccounts, clockToleranceSeconds } = services
    const { id, sign_in_url: signInUrl, amr } = configured
    const ask = configured.accounts && createAskedAccounts(configured.accounts, services)

    const method: SignInMethod = {
      id,
      kind: 'redirect',
      amr: amr ?? [],
      ...(configured.title && { title: configured.title }),
      ...(configured.logo !== undefined && { logo: configured.logo }),
      ...(configured.after && { after: configured.after }),
      async begin(attempt) {
        const iat = epochSeconds(clock)
        const claims = { iss: issuer, aud: signInUrl, iat, exp: iat + requestSeconds, ...described(attempt) }
        const request = await signedRequests.sign('handoff', claims, { by: id, signal: attempt.signal })
        const finish = new URL(attempt.callbackUrl)
        finish.searchParams.set('state', attempt.id)
        await handoffs.open(attempt.id, { method: id, finishUrl: finish.href })
        const url = new URL(signInUrl)
        url.searchParams.set('request', request)
        return { kind: 'redirect', url: url.href }
      },
      async finish(attempt): Promise<SignInResult> {
        const answer = await handoffs.findAnswer(attempt.id)
        if (answer === undefined) return { outcome: 'refused', why: 'the service has not answered' }
        if (answer.outcome === 'refused') return { outcome: 'refused', why: 'refused by the service' }
        const { subject, acr, auth_time: authTime, claims, username } = answer
        const refuse = (why: string): SignInResult => ({ outcome: 'refused', subject, why })
        if (amr !== undefined && !answer.amr.every((one) => amr.includes(one)))
          return refuse('the answer has an amr that is not configured')
        const { maxAge } = attempt.request
        if (maxAge !== undefined && authTime !== undefined) {
          if (authTime + maxAge + clockToleranceSeconds < epochSeconds(clock))
            return refuse('the sign-in is older than max_age')
        }
        if (claims !== undefined && ask === undefined && !(await externalAccounts.keep(id, { subject, claims })))
          return refuse('the subject is one of another sign-in method')
        return {
          outcome: 'passed',
          subject,
          amr: answer.amr,
          ...(acr !== undefined && { acr }),
          ...(authTime !== undefined && { authTime }),
          ...(username !== undefined && { username }),
        }
      },
    }
    return {
      signIn: [method],
      signedRequests: [{ purpose: 'handoff' }],
      accounts: { find: ask ?? ((subject) => externalAccounts.find(id, subject)) },
    }
  },
})
