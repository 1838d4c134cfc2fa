import { z } from 'zod'
import type { FoundPerson } from '../administration/accounts.js'
import type { Consent } from '../administration/consents.js'
import type { FactorsAfter, ListedFactor } from '../administration/factors.js'
import type { GrantEntry } from '../administration/grants.js'
import type { PersonCopy } from '../administration/person-copy.js'
import type { ListedPrincipal } from '../administration/principals.js'
import type { ListedSession } from '../administration/sessions.js'
import { isoTime } from '../clock.js'

/*
 * What people have, as the API and `--json` of the command line show it.
 */

const time = z.iso.datetime()
const iso = (seconds: number): string => isoTime(seconds * 1000)

export const personSources = ['configuration', 'store', 'external'] as const

export const shownPerson = z
  .object({
    username: z.string().optional(),
    sub: z.string(),
    source: z.enum(personSources).describe('Where the account is kept; `external`: an external service has it.'),
    method: z.string().optional().describe('The sign-in method of an external account.'),
    disabled: z.boolean(),
    claims: z.looseObject({}),
  })
  .describe('The account of a person, without its password.')

export const describePerson = ({ sub, username, source, method, claims, disabled = false }: FoundPerson) => ({
  ...(username !== undefined && { username }),
  ...{ sub, source: source ?? ('external' as const) },
  ...(method !== undefined && { method }),
  ...{ disabled, claims },
})

export const shownSession = z.object({
  sid: z.string(),
  signed_in_at: time,
  amr: z.array(z.string()),
  browser: z.string().optional(),
  system: z.string().optional(),
})

export const describeSession = ({ sid, authTime, amr, seen: { browser, system } = {} }: ListedSession) => ({
  ...{ sid, signed_in_at: iso(authTime), amr: [...amr] },
  ...(browser !== undefined && { browser }),
  ...(system !== undefined && { system }),
})

export const shownGrant = z.object({
  grant_id: z.string(),
  client_id: z.string(),
  scope: z.string(),
  resource: z.array(z.string()),
  authorization_details: z.array(z.looseObject({})).optional(),
  signed_in_at: time,
  granted_at: time,
})

export const describeGrant = ({ authorizationDetails: details, ...grant }: GrantEntry) => ({
  grant_id: grant.grantId,
  client_id: grant.clientId,
  scope: grant.scope.join(' '),
  resource: [...grant.resource],
  ...(details && { authorization_details: [...details] }),
  signed_in_at: iso(grant.authTime),
  granted_at: iso(grant.grantedAt),
})

export const shownConsent = z.object({
  client_id: z.string(),
  scope: z.string(),
  claims: z.array(z.string()),
  resource: z.array(z.string()),
})

export const describeConsent = ({ clientId, scope, claims, resource }: Consent) => ({
  client_id: clientId,
  scope: scope.join(' '),
  claims: [...claims],
  resource: [...resource],
})

export const shownFactor = z.object({
  id: z.string(),
  kind: z.enum(['passkey', 'totp', 'recovery_codes']),
  name: z.string().optional(),
  backed_up: z.boolean().optional().describe('Whether a passkey was copied to other devices when it was last used.'),
  left: z.int().optional().describe('The number of unused recovery codes.'),
  created_at: time,
  last_used_at: time.optional(),
})

export const describeFactor = ({ id, kind, name, backedUp, left, createdAt, lastUsedAt }: ListedFactor) => ({
  ...{ id, kind },
  ...(name !== undefined && { name }),
  ...(backedUp !== undefined && { backed_up: backedUp }),
  ...(left !== undefined && { left }),
  created_at: iso(createdAt),
  ...(lastUsedAt !== undefined && { last_used_at: iso(lastUsedAt) }),
})

export const shownDevice = z.object({
  id: z.string(),
  principal_id: z.string(),
  principal_type: z.enum(['device', 'service']),
  state: z.enum(['active', 'revoked']),
  jkt: z.string().describe('The thumbprint of its key (RFC 7638).'),
  attributes: z.looseObject({}),
  enrolled_at: time,
  revoked_at: time.optional(),
})

export const describeDevice = ({ id, enrolment, revokedAt }: ListedPrincipal) => ({
  id,
  principal_id: enrolment.principal.principalId,
  principal_type: enrolment.principal.principalType,
  state: revokedAt === undefined ? ('active' as const) : ('revoked' as const),
  jkt: enrolment.jkt,
  attributes: enrolment.attributes,
  enrolled_at: iso(enrolment.enrolledAt),
  ...(revokedAt !== undefined && { revoked_at: iso(revokedAt) }),
})

/** The ways in which a person can still sign in after access has ended. */
export const shownFactorsAfter = z.object({
  factors_state: z.enum(['removed', 'kept']),
  factors: z.array(shownFactor),
  approvals: z.int().describe('Requests of clients (CIBA) that were ended, or that still wait.'),
  method: z.string().optional().describe('The external method that signs the person in.'),
})

export const describeFactorsAfter = ({ state, factors, approvals, method }: FactorsAfter) => ({
  factors_state: state,
  factors: factors.map(describeFactor),
  approvals,
  ...(method !== undefined && { method }),
})

export const shownCopy = z
  .object({
    sub: z.string(),
    account: shownPerson.optional(),
    factors: z.array(shownFactor),
    sessions: z.array(shownSession),
    grants: z.array(shownGrant),
    consents: z.array(shownConsent),
    devices: z.array(shownDevice),
    recovery_link_issued_at: time.optional(),
    audit: z.array(z.looseObject({})).optional().describe('Lines of the audit log that name the person, oldest first.'),
    audit_complete: z.boolean().optional().describe('False: the audit log has older lines that were not read.'),
  })
  .describe('Everything that is stored of a person, without secrets.')

export const describeCopy = (copy: PersonCopy) => ({
  sub: copy.person.sub,
  ...(copy.person.source !== undefined && { account: describePerson(copy.person) }),
  factors: copy.factors.map(describeFactor),
  sessions: copy.sessions.map(describeSession),
  grants: copy.grants.map(describeGrant),
  consents: copy.consents.map(describeConsent),
  devices: copy.devices.map(describeDevice),
  ...(copy.recoveryIssuedAt !== undefined && { recovery_link_issued_at: iso(copy.recoveryIssuedAt) }),
  ...(copy.audit && { audit: [...copy.audit.lines], audit_complete: copy.audit.complete }),
})
