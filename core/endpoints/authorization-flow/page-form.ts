import type { ClientOnPage } from '../../interaction/pages/client-on-page.js'
import type { Client } from '../../oauth/client.js'
import { OAuthError } from '../../oauth/errors.js'
import type { EndpointRequest } from '../message.js'

/** Throws `invalid_request` when a field came twice. */
export const checkForm = ({ form }: EndpointRequest): void => {
  if (form.repeated.size > 0) throw new OAuthError('invalid_request', 'A field was sent more than once.')
}

export const refuseForgery = (): never => {
  throw new OAuthError(
    'access_denied',
    'The form has expired or was not sent by our page. Go back and reload the page.',
    {
      status: 403,
      reason: 'csrf token missing or wrong',
    },
  )
}

export const clientOnPage = (client: Client): ClientOnPage => ({
  name: client.client_name ?? client.client_id,
  ...(client.logo_uri !== undefined && { logoUri: client.logo_uri }),
  ...(client.policy_uri !== undefined && { policyUri: client.policy_uri }),
  ...(client.tos_uri !== undefined && { tosUri: client.tos_uri }),
})
