import type { OwnPrincipal, PrincipalRegistry } from '../../attestation/principal-registry.js'
import { epochSeconds, type Clock } from '../../clock.js'
import type { DeviceOnPage } from '../../interaction/pages/account-page.js'
import type { AuditLog } from '../../observe/audit.js'
import { maxRows, type AccountSection, type Action } from './section.js'

export interface DevicesSectionOptions {
  readonly registry: Pick<PrincipalRegistry, 'listOwn' | 'findOwn' | 'revoke'>
  readonly audit: AuditLog
  readonly clock: Clock
  /** Seconds for which others may accept an attestation issued just now. */
  readonly attestationTtlSeconds: number
}

/** The devices and services that have enrolled a key for a person. */
export const createDevicesSection = (options: DevicesSectionOptions): AccountSection => {
  const { registry, audit, clock, attestationTtlSeconds } = options

  const onPage = ({ id, enrolment, renewedAt, revokedAt }: OwnPrincipal): DeviceOnPage => ({
    id,
    name: enrolment.principal.principalId,
    type: enrolment.principal.principalType,
    since: enrolment.enrolledAt,
    ...(renewedAt !== undefined && { renewedAt }),
    ...(revokedAt !== undefined && { revokedAt }),
  })

  const revoke: Action = async ({ http, person: { session } }) => {
    const { subject: sub, sid: by_sid } = session
    const id = http.form.values.get('device') ?? ''
    const found = /^[\w-]{43}$/.test(id) ? await registry.findOwn(sub, id) : undefined
    const principal = found?.enrolment.principal
    if (principal === undefined || !(await registry.revoke({ principal, revokedAt: epochSeconds(clock) })))
      return { notice: 'device_gone' }
    const { principalId: principal_id, principalType: principal_type } = principal
    const auditContext = { request_id: http.requestId, sub, by_sid }
    await audit.record({ event: 'principal.revoked', ...auditContext, principal_id, principal_type })
    return { notice: 'device_revoked' }
  }

  return {
    name: 'devices',
    async show({ person }, after) {
      const { found, next } = await registry.listOwn(person.session.subject, after, maxRows)
      const devices = found.map(onPage).toSorted((one, other) => other.since - one.since)
      return { section: { view: 'devices', devices, attestationTtlSeconds }, next }
    },
    // Only the operator can undo it.
    actions: new Map([['revoke', { afterRecentSignIn: revoke }]]),
  }
}
