import type { ApplicationOnPage } from '../../interaction/pages/account-page.js'
import type { ClientAccess } from '../../interaction/client-access.js'
import type { PersonalRecords } from '../../interaction/personal-records.js'
import { isClientId } from '../../oauth/clients/client.js'
import { scopeToAllow } from '../../oauth/requests/scope.js'
import type { AuditLog } from '../../observe/audit.js'
import type { Log } from '../../observe/log.js'
import type { CommonOptions, RequestRules } from '../authorization-flow/options.js'
import { clientOnPage } from '../authorization-flow/page-form.js'
import { createDescribeDetail, maxShownDetails } from './describe-detail.js'
import { maxRows, type AccountSection, type Action } from './section.js'

export interface ApplicationsSectionOptions
  extends Pick<CommonOptions, 'clients'>, Pick<RequestRules, 'detailsTypes' | 'defaultAudience'> {
  readonly records: Pick<PersonalRecords, 'pageAccess' | 'withdrawConsent' | 'withdrawGrants'>
  readonly audit: AuditLog
  readonly log: Log
}

const unique = (...lists: readonly (readonly string[] | undefined)[]): readonly string[] => [
  ...new Set(lists.flatMap((list) => list ?? [])),
]

/**
 * What applications may do for a person. This section only removes access, so that an alarmed person can act at once.
 */
export const createApplicationsSection = (options: ApplicationsSectionOptions): AccountSection => {
  const { records, clients, detailsTypes, defaultAudience, audit, log } = options

  const describe = createDescribeDetail({ detailsTypes, log })

  const onPage = async (
    { clientId, grants, consent }: ClientAccess,
    signal: AbortSignal,
  ): Promise<ApplicationOnPage> => {
    const client = await clients.findEnabled(clientId)
    const details = grants.flatMap(({ authorizationDetails = [] }) => authorizationDetails)
    const resources = unique(consent?.resource, ...grants.map(({ resource }) => resource))
    return {
      clientId,
      client: client ? clientOnPage(client) : { name: clientId },
      scopes: unique(consent?.scope, ...grants.map(scopeToAllow)),
      claims: unique(consent?.claims),
      resources: resources.filter((resource) => resource !== defaultAudience),
      details: await Promise.all(details.slice(0, maxShownDetails).map((detail) => describe(detail, signal))),
      moreDetails: Math.max(0, details.length - maxShownDetails),
      ...(grants.length > 0 && { since: Math.min(...grants.map(({ grantedAt }) => grantedAt)) }),
      returns: client?.consent === 'implicit',
    }
  }

  const withdraw: Action = async ({ http, person: { session } }) => {
    const client_id = http.form.values.get('client_id') ?? ''
    const { subject: sub, sid: by_sid } = session
    if (!isClientId(client_id)) return { notice: 'access_gone' }
    const auditContext = { request_id: http.requestId, client_id, sub, by_sid }
    const isKnown = (await clients.find(client_id)) !== undefined
    const consent = await records.withdrawConsent(sub, client_id)
    // Recorded at once, because on another try after an outage the person has no consent any more.
    if (consent) await audit.record({ event: 'consent.withdrawn', ...auditContext, scope: consent.scope.join(' ') })
    const grants = await records.withdrawGrants(sub, client_id, isKnown || consent !== undefined)
    await audit.record(
      ...grants.map(({ grantId: grant_id }) => ({ event: 'grant.revoked' as const, ...auditContext, grant_id })),
    )
    if (grants.length === 0 && consent === undefined) return { notice: 'access_gone' }
    return { notice: 'access_withdrawn' }
  }

  return {
    name: 'applications',
    async show({ http, person }, after) {
      const { found, next } = await records.pageAccess(person.session.subject, after, maxRows)
      const applications = await Promise.all(found.map((access) => onPage(access, http.signal)))
      const sorted = applications.toSorted((one, other) => (other.since ?? 0) - (one.since ?? 0))
      return { section: { view: 'applications', applications: sorted }, next }
    },
    actions: new Map([['withdraw', withdraw]]),
  }
}
