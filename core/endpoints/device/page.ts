import { csrfToken } from '../../interaction/csrf.js'
import { bindToBrowser } from '../../interaction/interaction.js'
import { displayName } from '../../oauth/subjects/account.js'
import { devicePage, type DevicePage } from '../../interaction/pages/device-page.js'
import { formatUserCode, readUserCode } from '../../oauth/grants/device-code.js'
import { checkNoneRepeated } from '../../oauth/requests/params.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { Person } from '../authorization-flow/people.js'
import { pagesFor } from '../authorization-flow/pages-for.js'
import type { CommonOptions } from '../authorization-flow/options.js'
import type { Declaration } from '../endpoint.js'
import { otherAccountUrl, otherPersonUrl, wantsOtherAccount } from '../authorization-flow/other-account.js'
import { page, redirect, type Handler, type EndpointRequest, type Reply } from '../message.js'

/** Valid only for this person's page. `confirm` names the code that was shown for a decision. */
export const deviceCsrf = (browser: string, { session }: Person, confirm = ''): string =>
  csrfToken(browser, 'device', `${confirm}\n${session.sid}\n${session.subject}`)

/** Another person can sign in, and finds the same code in the field. */
export const accountOnPage = (issuer: string, { account, session }: Person, userCode: string | undefined) => {
  const query = userCode === undefined ? '' : `?${new URLSearchParams({ user_code: userCode })}`
  return { name: displayName(account, session.username), otherUrl: otherAccountUrl(`${issuer}/device${query}`) }
}

type EntryOptions = Pick<CommonOptions, 'issuer' | 'pages'>

/** Shows the page where a code is typed. */
export const createShowEntry =
  ({ issuer, pages }: EntryOptions, flow: Flow) =>
  (http: EndpointRequest, person: Person, extra: Partial<DevicePage> = {}, status = 200): Reply => {
    const { browser, cookies } = bindToBrowser(flow.cookies, http.cookie(flow.cookies.browser))
    const spoken = pagesFor(pages, http)
    const html = spoken.show(devicePage, {
      action: `${issuer}/device/verify`,
      csrf: deviceCsrf(browser, person),
      account: accountOnPage(issuer, person, extra.userCode),
      ...extra,
    })
    return page(status, html, spoken.language, cookies)
  }

/**
 * GET `/device`. A code in the address fills in the field and does nothing else (RFC 8628 §5.4); it is not even
 * looked up. People must sign in first, so that guesses can be attributed.
 */
export const devicePageEndpoint = {
  path: '/device',
  methods: ['GET'],
  body: 'none',
  errorTitle: 'device_error',
  pages: [devicePage],
  // It stores a pending sign-in before anyone has signed in, as `/authorize` does.
  limit: { byAddress: 'authorize', byRefusals: false },
} as const satisfies Declaration

export const createDevicePage = (options: EntryOptions, flow: Flow): Handler => {
  const showEntry = createShowEntry(options, flow)
  return async (http) => {
    const userCode = readUserCode(checkNoneRepeated(http.query).get('user_code'))
    const person = await flow.signedIn(http)
    const isOther = wantsOtherAccount(http)
    if (person !== undefined && !isOther)
      return showEntry(http, person, userCode === undefined ? {} : { userCode: formatUserCode(userCode) })
    const device = userCode === undefined ? {} : { userCode }
    const { id, cookies } = await flow.interactions.begin({ device }, http.cookie(flow.cookies.browser), http.address)
    return redirect(isOther ? otherPersonUrl(flow, http, id) : flow.interactions.pageUrl(id, 'login'), cookies)
  }
}
