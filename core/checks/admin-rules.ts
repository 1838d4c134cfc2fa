import { z } from 'zod'
import { findCertificatesFault } from '../certificates/certificate-chains.js'
import { subjectMembers } from '../certificates/subject.js'
import { certificateSubject } from '../oauth/clients/client-certificate-subject.js'
import { reservedNames } from '../operators/operator-record.js'
import { builtInRoles, isPermission, permissions } from '../operators/permissions.js'
import { meant, type Rule } from './rule.js'

const subject = z.object(certificateSubject)

/** A service that answers hand-offs signs people in, so the settings by which it authenticates must be complete. */
const handoffCredentials: Rule = ({ config: { admin }, report, isValid }) => {
  if (!isValid('admin') || admin?.handoff === undefined) return
  const { token, tls, handoff } = admin
  const { clients = [], trust_anchors: anchors = [] } = handoff
  const at = (...path: readonly (string | number)[]) => ['admin', 'handoff', ...path]
  if (handoff.token === undefined && clients.length === 0)
    report(at(), 'needs token, clients, or both; otherwise nobody could answer')
  if (handoff.token !== undefined && handoff.token.reveal() === token?.reveal())
    report(at('token'), 'must be another than admin.token, which may do everything else')
  if (clients.length > 0 && tls === undefined)
    report(at('clients'), 'needs admin.tls: without TLS there is no certificate')
  if (clients.length > 0 && anchors.length === 0) report(at('trust_anchors'), 'is required with clients')
  if (clients.length === 0 && anchors.length > 0) report(at('clients'), 'is required with trust_anchors')
  for (const [index, text] of anchors.entries())
    if (text !== undefined && findCertificatesFault(text) !== undefined)
      report(at('trust_anchors', index), 'holds no certificate that can be read')
  for (const [index, client] of clients.entries()) {
    if (Object.keys(client ?? {}).length !== 1)
      report(at('clients', index), `must have one of ${subjectMembers.join(', ')} (RFC 8705 §2.1.2)`)
    for (const { path, message } of subject.safeParse(client).error?.issues ?? [])
      report(at('clients', index, ...path.map(String)), message)
  }
}

/** A role with a misspelt permission would silently permit less. */
const operatorRoles: Rule = ({ config: { operators }, report, isValid }) => {
  if (!isValid('operators')) return
  for (const [role, names] of Object.entries(operators?.roles ?? {})) {
    const at = ['operators', 'roles', role]
    if (Object.hasOwn(builtInRoles, role)) report(at, 'is a built-in role; choose another name')
    for (const [index, name] of names?.entries() ?? [])
      if (name !== undefined && !isPermission(name))
        report([...at, index], `is no permission${meant(name, Object.keys(permissions))}`)
  }
}

/** Operators whose credentials nobody could use would silently be locked out, and two with one would be one. */
const operatorPeople: Rule = ({ config: { admin, operators, attestation }, report, isValid }) => {
  if (!isValid('admin', 'operators') || operators === undefined) return
  const { people = [], roles = {}, trust_anchors: anchors = [], oidc } = operators
  const at = (...path: readonly (string | number)[]) => ['operators', ...path]
  const known = [...Object.keys(builtInRoles), ...Object.keys(roles)]
  const checkRole = (path: readonly (string | number)[], role: string | undefined): void => {
    if (role !== undefined && !known.includes(role)) report(path, `is no role${meant(role, known)}`)
  }
  for (const [index, text] of anchors.entries())
    if (text !== undefined && findCertificatesFault(text) !== undefined)
      report(at('trust_anchors', index), 'holds no certificate that can be read')
  if (anchors.length > 0 && admin?.tls === undefined)
    report(at('trust_anchors'), 'needs admin.tls: without TLS there is no certificate')
  const seen = new Set<string>()
  const checkOnce = (path: readonly (string | number)[], value: string): void => {
    if (seen.has(value)) report(path, 'is that of another operator, too')
    seen.add(value)
  }
  for (const [index, person] of people.entries()) {
    if (person === undefined) continue
    const own = (...path: readonly (string | number)[]) => at('people', index, ...path)
    if (person.name !== undefined) checkOnce(own('name'), `name ${person.name}`)
    if (reservedNames.has(person.name ?? '')) report(own('name'), 'is taken')
    for (const [place, role] of person.roles?.entries() ?? []) checkRole(own('roles', place), role)
    for (const [place, passkey] of person.passkeys?.entries() ?? [])
      if (passkey?.id !== undefined) checkOnce(own('passkeys', place, 'id'), `passkey ${passkey.id}`)
    for (const [place, device] of person.devices?.entries() ?? []) {
      checkOnce(own('devices', place), `device ${device}`)
      if (attestation === undefined) report(own('devices', place), 'needs the section attestation')
    }
    if (person.oidc_sub !== undefined) {
      checkOnce(own('oidc_sub'), `sub ${person.oidc_sub}`)
      if (oidc === undefined) report(own('oidc_sub'), 'needs operators.oidc')
    }
    if (person.certificate === undefined) continue
    if (anchors.length === 0) report(own('certificate'), 'needs operators.trust_anchors')
    if (Object.keys(person.certificate).length !== 1)
      report(own('certificate'), `must have one of ${subjectMembers.join(', ')} (RFC 8705 §2.1.2)`)
    for (const { path, message } of subject.safeParse(person.certificate).error?.issues ?? [])
      report(own('certificate', ...path.map(String)), message)
  }
  for (const [value, role] of Object.entries(oidc?.roles?.map ?? {})) checkRole(at('oidc', 'roles', 'map', value), role)
  if (oidc?.issuer !== undefined && admin?.base_url === undefined)
    report(at('oidc'), 'needs admin.base_url, from which its redirect URI is made')
}

/** An operator who may add another alone approves everything as that other. */
const approvals: Rule = ({ config: { dual_control: control, operators }, report, warn, isValid }) => {
  if (!isValid('dual_control', 'operators') || control === undefined) return
  const { keys = 0, clients = 0, operators: own = 0 } = control
  if ((keys > 0 || clients > 0) && own === 0)
    warn(['dual_control', 'operators'], 'is 0, so one operator can add another, and approve as that one')
  const approvers = operators?.people?.filter((person) => (person?.passkeys?.length ?? 0) > 0).length ?? 0
  if (own > 0 && approvers <= own)
    report(
      ['dual_control', 'operators'],
      `needs ${String(own + 1)} operators with passkeys in operators.people: nobody else could approve the first ones`,
    )
}

export const adminRules: readonly Rule[] = [handoffCredentials, operatorRoles, operatorPeople, approvals]
