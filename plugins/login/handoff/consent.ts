import type { ConsentMethod, Services } from '../../../core/api/index.js'
import { createHandoffRequest, list, type RequestOptions } from './request.js'

type ConsentServices = Pick<Services, 'clock' | 'issuer' | 'signedRequests' | 'handoffs'>

/** Consent that the organisation's own service obtains. */
export const createConsent = (options: RequestOptions, services: ConsentServices): ConsentMethod => {
  const { handoffs } = services
  const sign = createHandoffRequest(options, services)
  return {
    id: options.id,
    async begin({ id, interactionId, subject, finishUrl, request, signal }) {
      const { clientId, authorizationDetails: details } = request
      const asked = {
        interaction: id,
        sub: subject,
        client_id: clientId,
        client_name: request.clientName,
        self_registered: request.isUnchecked,
        scope: request.scope.join(' '),
        claims: list(request.claims),
        resource: list(request.resource),
        authorization_details: details.length > 0 ? details : undefined,
        granted_scope: list(request.grantedScope),
        prompt: request.prompt,
        ui_locales: list(request.uiLocales),
      }
      const url = await sign(asked, signal)
      await handoffs.open(id, { method: options.id, finishUrl, consent: { interactionId, clientId, subject } })
      return url
    },
    async finish({ id }, { answer: secret }) {
      const found = await handoffs.findAnswer(id, secret)
      if ('fault' in found) return found.isPending ? { outcome: 'pending' } : { outcome: 'refused', why: found.fault }
      const { answer } = found
      return answer.outcome === 'allowed' ? answer : { outcome: 'denied' }
    },
  }
}
