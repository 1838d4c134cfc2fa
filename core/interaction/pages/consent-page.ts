import type { DescribedDetail } from '../../oauth/requests/authorization-details.js'
import type { ClientOnPage } from './client-on-page.js'
import { describeDetails } from './describe-details.js'
import { definePage, showAccount, showClientOf, showForm, type AccountOnPage, type ClientFormPage } from './page.js'
import { sample } from './sample.js'

/** The form sends `csrf`, and `decision`: button `#consent-allow` sends `allow`, `#consent-deny` sends `deny`. */
export interface ConsentPage extends ClientFormPage {
  readonly client: ClientOnPage
  readonly account: AccountOnPage
  readonly scopes: readonly string[]
  /** Names of single claims that the client requests in addition to the scopes (OIDC Core §5.5). */
  readonly claims: readonly string[]
  /** Resource servers that the client requests tokens for (RFC 8707). */
  readonly resources: readonly string[]
  /** What the client requests by `authorization_details` (RFC 9396), described in words. */
  readonly details?: readonly DescribedDetail[]
}

export const consentPage = definePage<ConsentPage>({
  view: 'consent',
  describe: (page, { translator, describePermissions, accountUrl }) => ({
    title: translator.text('consent.title'),
    ...showForm(page),
    ...showClientOf(page),
    ...showAccount(page.account),
    accountUrl,
    wishes: describePermissions(page.scopes, page.claims, page.resources),
    details: describeDetails(translator, page.details ?? []),
  }),
  samples: {
    '': { ...sample.ofClient, ...sample.asked, account: sample.account },
  },
})
