import { isCsrfToken } from '../../interaction/csrf.js'
import { logoOrigins } from '../../interaction/pages/client-on-page.js'
import { deviceConfirmPage } from '../../interaction/pages/device-confirm-page.js'
import { deviceResultPage, type DeviceResultPage } from '../../interaction/pages/device-result-page.js'
import type { Client } from '../../oauth/clients/client.js'
import {
  deviceCodeGrant,
  formatUserCode,
  readUserCode,
  type DeviceApproval,
  type DeviceRequest,
} from '../../oauth/grants/device-code.js'
import { OAuthError } from '../../oauth/errors.js'
import { said } from '../../oauth/said.js'
import { scopeToAllow } from '../../oauth/requests/scope.js'
import { isOpaqueToken } from '../../opaque-token.js'
import type { DeviceCode, DeviceCodeState } from '../../storage/ports.js'
import { newGrantId } from '../../oauth/grants/grant-id.js'
import { authenticationOf } from '../authorization-flow/code-record.js'
import type { Flow } from '../authorization-flow/flow.js'
import type { Person } from '../authorization-flow/people.js'
import type { GrantRecords, RequestRules, CommonOptions } from '../authorization-flow/options.js'
import { checkForm, clientOnPage, refuseForgery } from '../authorization-flow/page-form.js'
import { pagesFor } from '../authorization-flow/pages-for.js'
import type { Declaration } from '../endpoint.js'
import { page, type Handler, type EndpointRequest, type Reply } from '../message.js'
import { giveBackUserCodeAttempt, takeUserCodeAttempt } from './attempts.js'
import { accountOnPage, createShowEntry, deviceCsrf } from './page.js'
import type { DeviceOptions } from './options.js'

/** A form sent from our page, in the browser of the person who saw it. */
interface Sent {
  readonly http: EndpointRequest
  readonly person: Person
  readonly browser: string
  readonly userCode: string | undefined
  readonly decision: string | undefined
}

type Waiting = DeviceCode<DeviceRequest, DeviceApproval>

const overOutcomes: Readonly<Record<Exclude<DeviceCodeState, 'pending'>, DeviceResultPage['outcome']>> = {
  approved: 'used',
  redeemed: 'used',
  denied: 'denied_before',
  expired: 'expired',
}

/**
 * POST `/device/verify`: with `user_code` only, it shows what the device asks for; with `decision`, it decides. The
 * token of the second form depends on the code, so that only what was shown can be decided (RFC 8628 §5.4).
 */
export const deviceVerification = {
  path: '/device/verify',
  methods: ['POST'],
  body: 'page-form',
  errorTitle: 'device_error',
  pages: [deviceConfirmPage, deviceResultPage],
  limit: { byAddress: 'device_verify', byRefusals: false },
} as const satisfies Declaration

type Options = DeviceOptions &
  Pick<GrantRecords, 'grantIndex' | 'sessionClients'> &
  Pick<RequestRules, 'acrs' | 'defaultAudience'> &
  Pick<CommonOptions, 'issuer' | 'pages' | 'audit' | 'refusals' | 'clock' | 'clients'>

export const createDeviceVerification = (options: Options, flow: Flow): Handler => {
  const { issuer, pages, clients, audit, refusals, clock, deviceCodes, grantIndex, sessionClients, attempts } = options
  const showEntry = createShowEntry(options, flow)

  const refuse = ({ http, person }: Sent, why: string): Promise<void> =>
    refusals.record(http, { event: 'device.refused', why, sub: person.session.subject })

  const wrong = async (sent: Sent): Promise<Reply> => {
    await refuse(sent, 'unknown user code')
    return showEntry(sent.http, sent.person, { problem: 'wrong' }, 400)
  }

  const result = ({ http }: Sent, status: number, shown: Omit<DeviceResultPage, 'startUrl'>): Reply => {
    const spoken = pagesFor(pages, http)
    return page(status, spoken.show(deviceResultPage, { ...shown, startUrl: `${issuer}/device` }), spoken.language)
  }

  const isOver = async (sent: Sent, state: Exclude<DeviceCodeState, 'pending'>): Promise<Reply> => {
    await refuse(sent, `the code is ${state}`)
    return result(sent, 400, { outcome: overOutcomes[state] })
  }

  const show = createShowConfirm(options)
  const decide = async (
    sent: Sent,
    { userCode, request }: Waiting,
    client: Client,
    outcome: 'approved' | 'denied',
  ): Promise<Reply> => {
    await giveBackUserCodeAttempt(attempts, sent.person.session.subject, sent.http.address)
    const approval = approvalOf(request, sent.person, options)
    const [decided] = await Promise.all([
      deviceCodes.decide(userCode, outcome === 'approved' ? { approval } : 'denied'),
      outcome === 'approved' && grantIndex.add(approval),
      outcome === 'approved' && sessionClients.add(client, approval),
    ])
    if (outcome === 'approved' && decided.outcome !== 'won') await grantIndex.remove(approval)
    if (decided.outcome === 'unknown') return wrong(sent)
    const { state } = decided.record
    if (decided.outcome === 'replayed' && state !== 'pending') return isOver(sent, state)
    await audit.record({
      event: `device.${outcome}`,
      request_id: sent.http.requestId,
      sub: sent.person.session.subject,
      client_id: request.clientId,
      ...(outcome === 'approved' && { grant_id: approval.grantId }),
      scope: request.scope.join(' '),
      resource: approval.resource,
      device_address: request.address,
      address: sent.http.address,
    })
    return result(sent, 200, { outcome, client: clientOnPage(client) })
  }

  const locked = async (sent: Sent, retryAfterSeconds: number): Promise<Reply> => {
    await refuse(sent, 'too many attempts')
    const reply = showEntry(sent.http, sent.person, { problem: 'locked', retryAfterSeconds }, 429)
    return { ...reply, headers: { ...reply.headers, 'Retry-After': String(retryAfterSeconds) } }
  }

  const answer = async (sent: Sent): Promise<Reply> => {
    const { http, person, userCode, decision } = sent
    // Counted before the look-up, so that parallel guesses are counted.
    const wait = await takeUserCodeAttempt(attempts, person.session.subject, http.address, clock)
    if (wait > 0) return locked(sent, wait)
    const code = userCode === undefined ? undefined : await deviceCodes.findByUserCode(userCode)
    const client = code && (await clients.findEnabled(code.request.clientId))
    // A client can be disabled within these ten minutes.
    if (code === undefined || client === undefined || !client.grant_types.includes(deviceCodeGrant)) return wrong(sent)
    if (code.state !== 'pending') return isOver(sent, code.state)
    switch (decision) {
      case undefined:
        return show(sent, code, client)
      case 'approve':
        return decide(sent, code, client, 'approved')
      case 'deny':
        return decide(sent, code, client, 'denied')
      default:
        throw new OAuthError('invalid_request', said('no_decision'))
    }
  }

  return async (http) => answer(await readSent(http, flow))
}

/** What was sent with the form that this person saw. Throws `access_denied`. */
const readSent = async (http: EndpointRequest, flow: Flow): Promise<Sent> => {
  checkForm(http)
  const person = await flow.signedIn(http)
  const browser = http.cookie(flow.cookies.browser)
  if (person === undefined || !isOpaqueToken(browser))
    throw new OAuthError('access_denied', said('signed_in_no_more'), {
      status: 403,
      reason: 'no session',
    })
  const userCode = readUserCode(http.form.values.get('user_code'))
  const decision = http.form.values.get('decision')
  const expected = deviceCsrf(browser, person, decision === undefined ? '' : userCode)
  // Without a code the token would be that of the first form.
  if (decision !== undefined && userCode === undefined) return refuseForgery()
  if (!isCsrfToken(expected, http.form.values.get('csrf'))) return refuseForgery()
  return { http, person, browser, userCode, decision }
}

/** Shows what a device asks for. */
const createShowConfirm =
  ({ issuer, pages }: Pick<Options, 'issuer' | 'pages'>) =>
  ({ http, person, browser }: Sent, { userCode, request }: Waiting, client: Client): Reply => {
    const shown = clientOnPage(client)
    const spoken = pagesFor(pages, http)
    const html = spoken.show(deviceConfirmPage, {
      action: `${issuer}/device/verify`,
      csrf: deviceCsrf(browser, person, userCode),
      client: shown,
      account: accountOnPage(issuer, person, formatUserCode(userCode)),
      userCode: formatUserCode(userCode),
      scopes: scopeToAllow(request),
      resources: request.resource,
      place: { address: request.address, here: request.address === http.address },
    })
    return { ...page(200, html, spoken.language), images: logoOrigins([shown]) }
  }

const approvalOf = (
  { clientId, scope, offline, resource }: DeviceRequest,
  { session }: Person,
  { clock, acrs, defaultAudience }: Pick<Options, 'clock' | 'acrs' | 'defaultAudience'>,
): DeviceApproval => ({
  grantId: newGrantId(clock),
  clientId,
  subject: session.subject,
  scope,
  ...(offline && { offline }),
  // Stored explicitly, so that `/token` can tell a client that asks for it from one that asks for more (RFC 8707
  // §2.2).
  resource: resource.length > 0 ? resource : [defaultAudience],
  authentication: authenticationOf(session, acrs),
})
