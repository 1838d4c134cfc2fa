import type { ApiParts } from '../admin-api/api-route.js'
import { createCursors } from '../admin-api/lists.js'
import { createRepetitions } from '../admin-api/repetitions.js'
import { createEnrolmentKeys } from '../attestation/enrolment-keys.js'
import { createAttestationReader } from '../attestation/read-attestation.js'
import { createCheckRequestSignature } from '../attestation/request-signature.js'
import type { ConsoleOptions } from '../console/console-handler.js'
import { createConsoleDocuments, loadConsoleAssets } from '../console/documents.js'
import { createSignInPages } from '../console/sign-in.js'
import { createBearer } from '../http/bearer.js'
import type { ErrorPage } from '../http/error-response.js'
import { createOperatorGuard, type OperatorGuard } from '../http/operator-guard.js'
import { inEnglish } from '../oauth/said.js'
import { createFindOperatorOfCertificate } from '../operators/certificates.js'
import { configuredOperators } from '../operators/configured.js'
import { createDeviceApprovals, type DeviceApprovals } from '../operators/device-approval.js'
import { createOperatorDirectory } from '../operators/directory.js'
import { createOidcSignIn } from '../operators/oidc.js'
import type { OperatorParts } from '../operators/operator-parts.js'
import { createOperatorSessions } from '../operators/sessions.js'
import { createOperatorSignIns } from '../operators/sign-in.js'
import { createFindSite, signInPath } from '../operators/site.js'
import { createOutboundRequest } from '../outbound/outbound-fetch.js'
import { actedByOperator } from '../operators/operator.js'
import { createAuthenticateOperator } from '../operators/authenticate.js'
import { rolesOf } from '../operators/permissions.js'
import { basePathOf } from './admin-access.js'
import { tokens, type Resolve } from './injection-tokens.js'

/** Returns what the routes of the admin API work on: the deployment as it is in force at each call. */
export const createApiParts = (get: Resolve): (() => ApiParts) => {
  const { secrets, repeatableRequests } = get(tokens.collections)
  const [checked, log] = [get(tokens.checked), get(tokens.log)]
  const lasting = {
    running: get(tokens.running),
    stores: get(tokens.stores),
    clock: get(tokens.clock),
    operators: get(tokens.operators),
    audit: get(tokens.audit),
    auditReader: get(tokens.auditReader),
    unrecorded: (error: Error) => log.error('A change was made, but the audit log has only its beginning', {}, error),
    base: basePathOf(get(tokens.config).admin.base_url),
    cursors: createCursors(secrets),
    repetitions: createRepetitions(repeatableRequests),
    passwords: get(tokens.passwords),
  }
  return () => {
    const now = checked()
    return { ...lasting, checked: now, config: now.config }
  }
}

/** Creates what verifies the signatures of attested devices of operators. */
const createDevices = (get: Resolve): DeviceApprovals | undefined => {
  const { attestation, issuer, clock_tolerance_secs: toleranceSeconds, admin } = get(tokens.config)
  if (attestation === undefined) return undefined
  const [clock, keys, registry] = [get(tokens.clock), createEnrolmentKeys(), get(tokens.principals)]
  const read = createAttestationReader({ ...get(tokens.verification), typ: attestation.typ })
  const check = createCheckRequestSignature({
    ...{ issuer, basePath: basePathOf(admin.base_url), clock, toleranceSeconds, read, keys },
    used: get(tokens.collections).usedRequestSignatures,
  })
  return createDeviceApprovals({ check, read, keys, registry, toleranceSeconds })
}

/** Creates the parts that the guard, the console and the routes of operators share. */
export const createOperatorParts = (get: Resolve): OperatorParts => {
  const { operators, operatorSessions, operatorLinks: links, operatorSignIns: begun } = get(tokens.collections)
  const [checked, clock] = [get(tokens.checked), get(tokens.clock)]
  const inForce = () => checked().config.operators
  const { admin, outbound } = get(tokens.config)
  const directory = createOperatorDirectory(() => configuredOperators(inForce().people), operators)
  const sessions = createOperatorSessions(operatorSessions, clock)
  const claimedRoles = () => inForce().oidc?.roles?.map ?? {}
  const request = createOutboundRequest({ allowPrivateAddresses: outbound.allow_private_addresses })
  const oidc = createOidcSignIn(() => inForce().oidc, request)
  return {
    ...{ directory, sessions, claimedRoles, begun, links },
    devices: createDevices(get),
    oidc: () => inForce().oidc?.issuer,
    site: createFindSite(admin.base_url, { hasTls: admin.tls !== undefined }),
    certificates: createFindOperatorOfCertificate(() => inForce().trust_anchors, directory, clock),
    signIns: createOperatorSignIns({ directory, sessions, links, begun, oidc, claimedRoles }),
  }
}

/** Creates the guard of the routes that need an operator. */
export const createGuardOfOperators = (get: Resolve): OperatorGuard => {
  const { operatorTokens } = get(tokens.collections)
  const { directory, sessions, site, certificates, claimedRoles, devices } = get(tokens.operators)
  const [checked, clock, audit, refusals] = [
    get(tokens.checked),
    get(tokens.clock),
    get(tokens.audit),
    get(tokens.refusals),
  ]
  const { token } = get(tokens.config).admin
  return createOperatorGuard({
    authenticate: createAuthenticateOperator({
      ...{ operatorTokens, clock, directory, sessions, site, certificates, claimedRoles, devices },
      roles: () => rolesOf(checked().config.operators.roles),
      hasAdminToken: token === undefined ? () => false : createBearer(token.reveal()),
    }),
    clock,
    basePath: basePathOf(get(tokens.config).admin.base_url),
    async record(request, { operator, permission, route, reason }) {
      const event = 'operator.refused'
      const auditFields = { permission, route, method: request.method }
      if (operator === undefined) return refusals.record(request, { event, why: reason, auditFields })
      const by = actedByOperator(operator, { via: 'http', address: request.address })
      await audit.record({ event, request_id: request.requestId, ...auditFields, reason, by })
    },
  })
}

/** Returns what the pages of the console are made from. */
export const createConsole = (get: Resolve): ConsoleOptions => {
  const checked = get(tokens.checked)
  const base = basePathOf(get(tokens.config).admin.base_url)
  return {
    parts: get(tokens.apiParts),
    documents: createConsoleDocuments({
      ...{ assets: loadConsoleAssets(), base },
      name: () => new URL(checked().config.issuer).host,
    }),
    base,
  }
}

/** Returns the handlers of the pages where operators sign in. */
export const createSignIn = (get: Resolve) => {
  const { documents, base } = get(tokens.console)
  const refusals = get(tokens.refusals)
  return createSignInPages({
    ...{ operators: get(tokens.operators), documents, base, audit: get(tokens.audit) },
    refused: (request, why, name) =>
      refusals.record(request, {
        ...{ event: 'operator.refused', why },
        auditFields: { route: signInPath, ...(name !== undefined && { claimed_operator: name }) },
      }),
  })
}

/** Returns the error pages of the console, for requests that reach none of its pages. */
export const createConsoleErrorPage =
  (get: Resolve): ErrorPage =>
  ({ status, message, requestId }, { acceptLanguage }) => {
    const { documents, base } = get(tokens.console)
    const spoken = documents.for(acceptLanguage)
    const refused = { status, code: '', message: inEnglish(message), details: {} }
    return { html: spoken.show(spoken.problem(refused, requestId), { base }), language: spoken.language }
  }
