import { signatureHeader } from '../../libraries/wire/names.js'
import type { SignedRequest } from '../attestation/request-signature.js'
import type { ClientCertificate } from '../certificates/client-certificate.js'
import type { Clock } from '../clock.js'
import type { RecordStore } from '../storage/ports.js'
import type { FindOperatorOfCertificate } from './certificates.js'
import type { DeviceApprovals } from './device-approval.js'
import type { OperatorDirectory } from './directory.js'
import { credentialId } from './operator-record.js'
import { localOperator, type OperatorIdentity } from './operator.js'
import { findOperatorToken, type OperatorToken } from './operator-tokens.js'
import { permissionsOf, type Permission, type Roles } from './permissions.js'
import { oidcName, rolesOfClaim } from './oidc-roles.js'
import { sessionCookie, sessionCsrf, type OperatorSession, type OperatorSessions } from './sessions.js'
import { isOfSite, type FindSite } from './site.js'

/** A request to the admin listener as far as it shows its sender. */
export interface OperatorRequest extends SignedRequest {
  readonly query: { readonly values: ReadonlyMap<string, string> }
  /** The segments of the path that stand for `{name}` of the route. */
  readonly path: ReadonlyMap<string, string>
  cookie(name: string): string | undefined
  clientCertificate(): ClientCertificate | undefined
  /** The peer's address, `unix` for a unix socket. */
  readonly address: string
}

/**
 * Finds out which operator sent a request. Undefined: the request has no credential of an operator, or none that is
 * valid now. `route` is the path of the route, such as `/api/v1/approvals/{id}`. Throws `Unavailable`.
 */
export type AuthenticateOperator = (request: OperatorRequest, route: string) => Promise<OperatorIdentity | undefined>

export interface AuthenticationOptions {
  readonly operatorTokens: Pick<RecordStore<OperatorToken>, 'find'>
  readonly clock: Clock
  /** The roles in force. */
  readonly roles: () => Roles
  /** Tells whether a request has `admin.token`, whose bearer is a viewer. */
  readonly hasAdminToken: (request: OperatorRequest) => boolean
  readonly directory: OperatorDirectory
  readonly sessions: OperatorSessions
  readonly site: FindSite
  readonly certificates: FindOperatorOfCertificate
  /** Undefined where no device is enrolled. */
  readonly devices: Pick<DeviceApprovals, 'admit'> | undefined
  /** Roles by the values of a claim, as the configuration in force maps them. */
  readonly claimedRoles: () => Readonly<Record<string, string>>
}

/** Headers of browsers and proxies. A request that has one of them does not come from a program on the host. */
const foreign = ['origin', 'sec-fetch-site', 'x-forwarded-for', 'x-forwarded-host', 'forwarded', 'via']

/**
 * Tells whether a program on the host sent the request itself through the unix socket. Whoever can open the socket can
 * open the stores, too.
 */
export const isLocalProgram = (request: Pick<OperatorRequest, 'address' | 'header'>): boolean =>
  request.address === 'unix' && foreign.every((name) => request.header(name) === undefined)

const ofDevices = ['approvals.read', 'approvals.decide'] as const satisfies readonly Permission[]

/** The name of the scheme is case-insensitive (RFC 9110 §11.1). */
const bearer = /^bearer +(\S+)$/i

/**
 * Authenticates operators by what their requests carry: a token, the session of a browser, a certificate, or the
 * socket that they came through.
 */
export const createAuthenticateOperator = (options: AuthenticationOptions): AuthenticateOperator => {
  const { operatorTokens, clock, roles, hasAdminToken, sessions, site, certificates } = options
  const identify = (
    name: string,
    names: readonly string[],
    proof: Omit<OperatorIdentity, 'name' | 'roles' | 'permissions'>,
  ): OperatorIdentity => ({
    ...{ name, roles: names, permissions: permissionsOf(roles(), names) },
    ...proof,
  })

  const byToken = async (request: OperatorRequest, authorization: string) => {
    if (hasAdminToken(request)) return identify('admin.token', ['viewer'], { proof: 'admin_token' })
    const token = await findOperatorToken(operatorTokens, bearer.exec(authorization)?.[1] ?? '', clock)
    if (token === undefined) return undefined
    const { id: credential, name, roles: names, issuedBy } = token
    return identify(name, names, { proof: 'token', credential, issuedBy })
  }

  /** A browser sends the cookie by itself, so the address and the page that the request comes from must be ours. */
  const bySession = async (request: OperatorRequest) => {
    const at = site(request)
    const cookie = at && request.cookie(sessionCookie(at))
    const session = cookie === undefined ? undefined : await sessions.find(cookie)
    if (at === undefined || cookie === undefined || session === undefined || !isOfSite(at, request)) return undefined
    if (!(await isStillGood(session, options))) {
      await sessions.end(cookie)
      return undefined
    }
    await sessions.touch(cookie, session)
    const { name, roles: names, proof, credential } = session
    return identify(name, names, { proof, ...(credential !== undefined && { credential }), csrf: sessionCsrf(cookie) })
  }

  /** So does it with a certificate; programs, which send neither header, name no site. */
  const byCertificate = async (request: OperatorRequest) => {
    const certificate = request.clientCertificate()
    if (certificate === undefined) return undefined
    const at = site(request)
    const isProgram = request.header('origin') === undefined && request.header('sec-fetch-site') === undefined
    if (!isProgram && (at === undefined || !isOfSite(at, request))) return undefined
    const found = await certificates(certificate)
    if (found === undefined || found.operator.disabled) return undefined
    const { operator, credential } = found
    return identify(operator.name, operator.roles, { proof: 'certificate', credential: credentialId(credential) })
  }

  /** The path as it was sent, because its segments are encoded in one way only where devices are admitted. */
  const pathOf = ({ path }: OperatorRequest, route: string): string =>
    route.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(path.get(name) ?? ''))

  /** A device reads and decides what waits for approval, whatever else its operator may do. */
  const byDevice = async (request: OperatorRequest, route: string) => {
    if (request.query.values.size > 0) return undefined
    const signer = await options.devices?.admit(request, pathOf(request, route))
    const id = signer?.principal.principalId
    const found = await options.directory.findBy((own) => own.kind === 'device' && own.principal === id)
    if (found === undefined || found.operator.disabled) return undefined
    const { name, roles: names } = found.operator
    const known = identify(name, names, { proof: 'device', credential: credentialId(found.credential) })
    return { ...known, permissions: new Set(ofDevices.filter((permission) => known.permissions.has(permission))) }
  }

  return async (request, route) => {
    const authorization = request.header('authorization')
    if (authorization !== undefined) return byToken(request, authorization)
    if (request.header(signatureHeader) !== undefined) return byDevice(request, route)
    if (isLocalProgram(request)) return localOperator
    return (await bySession(request)) ?? (await byCertificate(request))
  }
}

/** A session ends with its operator, with its credential, and with each role that it began with. */
const isStillGood = async (
  { name, roles, credential, claimed, proof }: OperatorSession,
  { directory, claimedRoles }: Pick<AuthenticationOptions, 'directory' | 'claimedRoles'>,
): Promise<boolean> => {
  if (claimed !== undefined) {
    const operator = await directory.findBy((own) => own.kind === 'oidc' && oidcName(own.sub) === name)
    const now = rolesOfClaim(claimedRoles(), claimed)
    return operator === undefined && roles.every((role) => now.includes(role))
  }
  const operator = await directory.find(name)
  if (operator === undefined || operator.disabled) return false
  if (!roles.every((role) => operator.roles.includes(role))) return false
  return proof === 'link' || operator.credentials.some((own) => credentialId(own) === credential)
}
