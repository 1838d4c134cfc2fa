import { epochSeconds, type Services, type SignInMethod, type SignInResult } from '../../../core/api/index.js'
import type { HandoffOptions } from './options.js'
import { createHandoffRequest, list } from './request.js'

type SignInServices = Pick<
  Services,
  'clock' | 'issuer' | 'signedRequests' | 'handoffs' | 'externalAccounts' | 'clockToleranceSeconds'
>

/** Sign-in at the organisation's own service. */
export const createSignIn = (url: string, configured: HandoffOptions, services: SignInServices): SignInMethod => {
  const { clock, handoffs, externalAccounts, clockToleranceSeconds } = services
  const { id, amr } = configured
  const sign = createHandoffRequest({ id, url }, services)
  return {
    id,
    kind: 'redirect',
    amr: amr ?? [],
    ...(configured.title && { title: configured.title }),
    ...(configured.logo !== undefined && { logo: configured.logo }),
    ...(configured.after && { after: configured.after }),
    async begin({ id: interaction, callbackUrl, from, request, signal }) {
      const asked = {
        interaction,
        client_id: request.clientId,
        client_name: request.clientName,
        scope: list(request.scopes),
        acr_values: list(request.acrValues),
        max_age: request.maxAge,
        prompt: request.prompt,
        login_hint: request.loginHint,
        ui_locales: list(request.uiLocales),
      }
      const finish = new URL(callbackUrl)
      finish.searchParams.set('state', interaction)
      const to = await sign(asked, signal)
      await handoffs.open(interaction, { method: id, finishUrl: finish.href, address: from.address })
      return { kind: 'redirect', url: to }
    },
    async findFault(attempt, { answer: secret }) {
      const found = await handoffs.findAnswer(attempt.id, secret)
      return 'fault' in found ? found.fault : undefined
    },
    async finish(attempt, { answer: secret }): Promise<SignInResult> {
      const found = await handoffs.findAnswer(attempt.id, secret)
      if ('fault' in found) return { outcome: 'refused', why: found.fault }
      const { answer } = found
      if (answer.outcome !== 'passed') return { outcome: 'refused', why: 'refused by the service' }
      const { subject, acr, auth_time: authTime, claims, username } = answer
      const refuse = (why: string): SignInResult => ({ outcome: 'refused', subject, why })
      if (amr !== undefined && !answer.amr.every((one) => amr.includes(one)))
        return refuse('the answer has an amr that is not configured')
      const { maxAge } = attempt.request
      if (maxAge !== undefined && authTime !== undefined) {
        if (authTime + maxAge + clockToleranceSeconds < epochSeconds(clock))
          return refuse('the sign-in is older than max_age')
      }
      // An answer without claims names an existing account; after a first method, the person is known already.
      const namesAccount = claims === undefined && !configured.accounts
      const linksAccount = configured.links_accounts === true || namesAccount || attempt.passed?.subject === subject
      if (!linksAccount && (await externalAccounts.isLocal(subject, attempt.signal)))
        return refuse('the subject is an account of this deployment')
      if (claims !== undefined && !configured.accounts && !(await externalAccounts.keep(id, { subject, claims })))
        return refuse('the subject is one of another sign-in method')
      return {
        outcome: 'passed',
        subject,
        amr: answer.amr,
        ...(acr !== undefined && { acr }),
        ...(authTime !== undefined && { authTime }),
        ...(username !== undefined && { username }),
        ...(linksAccount && { linksAccount }),
      }
    },
  }
}
