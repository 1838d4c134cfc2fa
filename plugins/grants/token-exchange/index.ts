import { z } from 'zod'
import {
  defineGrant,
  definePlugin,
  OAuthError,
  type Actor,
  type Authentication,
  type GrantDecision,
  type GrantRequest,
  type OwnTokens,
} from '../../../core/api/index.js'
import type { ShownAttestations } from '../../../core/api/attestation.js'
import { accessTokenType } from '../../../core/api/internal.js'
import { attestationType, exchangeAttestation } from './attested.js'
import { none, options, type Rights } from './options.js'
import { readPresented, refuse, presentedTypes, type PresentedToken } from './subject.js'

/** RFC 8693 §2.1. A type without a token, or a token without a type, is refused. */
const params = z
  .object({
    subject_token: z.string(),
    subject_token_type: z.enum([...presentedTypes, attestationType]),
    actor_token: z.string().optional(),
    actor_token_type: z.enum(presentedTypes).optional(),
    requested_token_type: z.literal(accessTokenType).optional(),
  })
  .refine(({ actor_token, actor_token_type }) => actor_token === undefined || actor_token_type !== undefined, {
    path: ['actor_token_type'],
  })
  .refine(({ actor_token, actor_token_type }) => actor_token_type === undefined || actor_token !== undefined, {
    path: ['actor_token'],
  })

type Input = z.output<typeof params>
type Request = GrantRequest<Input>

/** The client that the token was issued to or is for, or the resource server that the client is. */
const checkRight = ({ client }: Request, { audiences }: Rights, subject: PresentedToken): void => {
  const own = subject.clientId === client.client_id || subject.audience.includes(client.client_id)
  if (!own && !subject.audience.some((name) => audiences.includes(name)))
    refuse('the subject token was not issued for the client')
}

/** RFC 8693 §4.4: the actor must match every member of `may_act`. */
const isPermitted = (mayAct: unknown, actor: PresentedToken): boolean => {
  if (typeof mayAct !== 'object' || mayAct === null) return false
  const known = new Map(Object.entries({ iss: actor.claims['iss'], sub: actor.subject, client_id: actor.clientId }))
  const named = Object.entries(mayAct)
  return named.some(([name]) => name !== 'iss') && named.every(([name, value]) => known.get(name) === value)
}

/**
 * The actor token must be the client's own. A client may act for tokens that it obtained itself; for tokens of
 * different parties it needs permission, because otherwise tokens of unrelated contexts could form a chain that never
 * existed.
 */
const checkActor = ({ client }: Request, rights: Rights, subject: PresentedToken, actor: PresentedToken): Actor => {
  if (actor.clientId !== client.client_id) refuse('the actor token was not issued to the client')
  if (actor.actor !== undefined) refuse('the actor token already has an actor')
  const mayAct = subject.claims['may_act']
  const permitted =
    mayAct === undefined
      ? actor.subject === client.client_id && [client.client_id, ...rights.acts_for].includes(subject.clientId)
      : isPermitted(mayAct, actor)
  if (!permitted) refuse('the actor may not act for the subject')
  return { sub: actor.subject, client_id: actor.clientId, ...(subject.actor && { act: subject.actor }) }
}

const narrowScope = ({ client, scope }: Request, rights: Rights, subject: PresentedToken): readonly string[] => {
  const { scope: claimed } = subject.claims
  const given = typeof claimed === 'string' ? claimed.split(' ') : []
  const allowed = subject.kind === 'id_token' ? rights.id_token_scope : given
  if (!scope.every((name) => allowed.includes(name)))
    throw new OAuthError('invalid_scope', 'The scope exceeds that of the subject token.')
  // No refresh token is issued.
  const wanted = scope.length > 0 ? scope : subject.kind === 'id_token' ? [] : given
  return wanted.filter((name) => client.scope.includes(name) && name !== 'offline_access')
}

/** An id_token is for a client and names no resource server, so the core decides what the client may ask for. */
const narrowAudience = (
  { resource, audience }: Request,
  rights: Rights,
  subject: PresentedToken,
): readonly string[] => {
  const asked = [...new Set([...resource, ...audience])]
  if (subject.kind === 'id_token') return asked
  if (asked.length === 0) return subject.audience
  if (!asked.every((name) => subject.audience.includes(name) || rights.targets.includes(name)))
    throw new OAuthError('invalid_target', 'The subject token is not for this resource.')
  return asked
}

const authenticationOf = ({ claims }: PresentedToken): Authentication | undefined => {
  const { auth_time: time, acr } = claims
  return typeof time === 'number' ? { auth_time: time, ...(typeof acr === 'string' && { acr }) } : undefined
}

/** Verifies tokens that may be presented. */
interface Shown {
  readonly ownTokens: OwnTokens
  readonly attestations: ShownAttestations
}

const decide = async ({ ownTokens, attestations }: Shown, rights: Rights, request: Request): Promise<GrantDecision> => {
  const { input } = request
  if (input.subject_token_type === attestationType) {
    if (input.actor_token !== undefined) refuse('nobody acts for a device or service')
    return exchangeAttestation(attestations, rights, input.subject_token, request)
  }
  const subject = await readPresented(ownTokens, input.subject_token, input.subject_token_type, request)
  checkRight(request, rights, subject)
  const presented =
    input.actor_token === undefined || input.actor_token_type === undefined
      ? undefined
      : await readPresented(ownTokens, input.actor_token, input.actor_token_type, request)
  const actor = presented === undefined ? subject.actor : checkActor(request, rights, subject, presented)
  if (actor?.act?.act?.act?.act !== undefined) refuse('too many actors')
  const authentication = authenticationOf(subject)
  return {
    subject: subject.subject,
    scope: narrowScope(request, rights, subject),
    audience: narrowAudience(request, rights, subject),
    ...(authentication && { authentication }),
    ...(actor && { actor }),
    notAfter: Math.min(subject.expiresAt, presented?.expiresAt ?? Infinity),
    grantId: subject.grantId,
    issuedTokenType: accessTokenType,
  }
}

/** Token exchange (RFC 8693): impersonation, or delegation with an actor token. */
export default definePlugin({
  name: 'grants/token-exchange',
  apiVersion: 1,
  options,
  needs: ['ownTokens', 'attestations'],
  create({ clients }, presented) {
    const rightsOf = new Map(Object.entries(clients))
    const takesAttestations = [...rightsOf.values()].some(
      ({ attestation_scope: { device, service } }) => device !== undefined || service !== undefined,
    )
    return {
      grants: [
        defineGrant({
          grantType: 'urn:ietf:params:oauth:grant-type:token-exchange',
          params,
          clientAuthentication: 'confidential',
          takesAttestations,
          handle: (request) => decide(presented, rightsOf.get(request.client.client_id) ?? none, request),
        }),
      ],
    }
  },
})
