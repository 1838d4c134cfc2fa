import { endSubjectOf, personalRecordsOf } from '../collections/person-records.js'
import { accountPages, createAccountPages } from '../endpoints/account/index.js'
import { createRecoveryPages, recoveryPages } from '../endpoints/account/recovery.js'
import { createApplicationsSection } from '../endpoints/account/applications.js'
import { createApprovalsSection } from '../endpoints/account/approvals.js'
import { createDevicesSection } from '../endpoints/account/devices.js'
import { createPasskeysSection } from '../endpoints/account/passkeys.js'
import { createPasswordSection } from '../endpoints/account/password.js'
import type { AccountSection } from '../endpoints/account/section.js'
import { createSessionsSection } from '../endpoints/account/sessions.js'
import { createTotpSection } from '../endpoints/account/totp.js'
import type { HandlersOf } from '../endpoints/endpoint.js'
import { createRecoveryLinks } from '../interaction/recovery/recovery-links.js'
import { createRecoverySessions } from '../interaction/recovery/recovery-sessions.js'
import { cibaGrant } from '../oauth/ciba/request.js'
import { pendingApprovalsOf } from './ciba-endpoints.js'
import { tokens, type Resolve } from './injection-tokens.js'
import { notifyClientsOf, type SignIn } from './people-endpoints.js'

/** The person's own account page, which is served with `account_page` where people sign in. */
export const accountEndpoints = { ...accountPages, ...recoveryPages }

export const createAccountEndpoints = (
  get: Resolve,
  { options, flow }: SignIn,
): HandlersOf<typeof accountEndpoints> => {
  const { audit } = options
  const { cookies } = flow
  const notifyClients = notifyClientsOf(get)
  const kept = get(tokens.collections)
  const records = personalRecordsOf(kept, get(tokens.config), get(tokens.clock), notifyClients)
  const { recoveryLinks, recoverySessions } = kept
  const links = createRecoveryLinks({ ...options, store: recoveryLinks })
  const recoveries = createRecoverySessions({ ...options, store: recoverySessions, cookies })
  const sections: AccountSection[] = [
    createSessionsSection({ records, audit, cookies }),
    createApplicationsSection({ ...options, records, log: get(tokens.log) }),
  ]
  const { attestation, clock_tolerance_secs: tolerance } = get(tokens.config)
  if (attestation !== undefined && get(tokens.registries).keepsPrincipals)
    sections.push(
      createDevicesSection({
        registry: get(tokens.principals),
        audit,
        clock: get(tokens.clock),
        attestationTtlSeconds: attestation.attestation_ttl_secs + tolerance,
      }),
    )
  if (attestation !== undefined && get(tokens.grants).has(cibaGrant))
    sections.push(createApprovalsSection({ ...options, pending: pendingApprovalsOf(get, { options }) }))
  const { passwordChange, passwordReset } = get(tokens.registries)
  if (passwordChange !== undefined)
    sections.push(
      createPasswordSection(
        {
          ...options,
          changePassword: passwordChange,
          resetPassword: passwordReset,
          recoveries,
          endSubject: endSubjectOf(kept, get(tokens.config), options.clock, notifyClients),
        },
        flow,
      ),
    )
  const { passkey, totp } = get(tokens.registries).factorEnrolments
  const { personFactors: factors, evidenceChallenges: challenges } = get(tokens.services)
  if (passkey !== undefined)
    sections.push(createPasskeysSection({ ...options, enrolment: passkey, factors, challenges }))
  if (totp !== undefined) sections.push(createTotpSection({ ...options, enrolment: totp, factors }))
  return {
    ...createAccountPages(options, flow, sections, recoveries),
    ...createRecoveryPages(options, flow, { links, sessions: recoveries }),
  }
}
