import { definePlugin } from '../../../core/api/index.js'
import { createAskedAccounts } from './asked-accounts.js'
import { createConsent } from './consent.js'
import { options, type HandoffOptions } from './options.js'
import { createSignIn } from './sign-in.js'

/** People sign in, give consent, or both, at the organisation's own service, which answers on the admin listener. */
export default definePlugin({
  name: 'handoff',
  apiVersion: 1,
  options,
  needs: ['clock', 'issuer', 'outbound', 'signedRequests', 'handoffs', 'externalAccounts', 'clockToleranceSeconds'],
  create: (configured: HandoffOptions, services) => {
    const { id, accounts, sign_in_url: signInUrl, consent_url: consentUrl } = configured
    const ask = accounts && createAskedAccounts(accounts, services)
    return {
      signedRequests: [{ purpose: 'handoff' }],
      ...(signInUrl !== undefined && {
        signIn: [createSignIn(signInUrl, configured, services)],
        accounts: { find: ask ?? ((subject: string) => services.externalAccounts.find(id, subject)) },
      }),
      ...(consentUrl !== undefined && { consent: createConsent({ id, url: consentUrl }, services) }),
    }
  },
})
