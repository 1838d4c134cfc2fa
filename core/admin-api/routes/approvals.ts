import { z } from 'zod'
import { attestationHeader, signatureHeader } from '../../../libraries/wire/names.js'
import {
  approve,
  declineApproval,
  listApprovals,
  readApproval,
  type GivenApproval,
  type ListedApproval,
} from '../../administration/approvals.js'
import { isoTime } from '../../clock.js'
import type { EndpointRequest } from '../../endpoints/message.js'
import { defineApiRoute, type ApiParts } from '../api-route.js'
import { listOf, listQuery, readPage } from '../lists.js'
import { Problem, unlessRefused } from '../problem.js'

const state = z.enum(['waiting', 'expired', 'running', 'done', 'failed', 'refused'])

const shownApproval = z.object({
  ...{ id: z.string(), state, kind: z.string(), action: z.string(), object: z.string() },
  ...{ requested_by: z.string(), requested_at: z.iso.datetime(), expires_at: z.iso.datetime() },
  ...{ needed: z.int(), approved_by: z.array(z.string()) },
  digest: z.string().describe('The challenge of a passkey: base64url of the SHA-256 of `document`.'),
  document: z.string().describe('What is approved, as canonical JSON (RFC 8785).'),
  note: z.string().optional().describe('Why it was not carried out, or who refused it.'),
})

const show = (approval: ListedApproval): z.output<typeof shownApproval> => {
  const { id, action, digest, document, note, expiresAt, approvedBy, isExpired } = approval
  return {
    ...{ id, state: isExpired ? 'expired' : approval.state, kind: action.kind, action: action.action },
    ...{ object: action.object, requested_by: action.requested_by.operator, requested_at: action.at },
    ...{
      expires_at: isoTime(expiresAt),
      needed: action.approvals,
      approved_by: [...approvedBy],
      digest,
      document,
      note,
    },
  }
}

/** The request itself is the approval. The guard has admitted its sender. */
const signedByDevice = (request: EndpointRequest): GivenApproval['signed'] => ({
  device: {
    attestation: request.header(attestationHeader) ?? '',
    signature: request.header(signatureHeader) ?? '',
    body: request.body?.toString() ?? '',
  },
})

const signedByPasskey = (
  { operators }: ApiParts,
  request: EndpointRequest,
  { assertion }: { readonly assertion?: string | undefined },
): GivenApproval['signed'] => {
  const site = operators.site(request)
  if (site === undefined) throw new Problem(409, 'no_site', 'The request came under an address that has no passkeys.')
  return { site, answer: assertion ?? '' }
}

const tag = 'Approvals'
const path = '/approvals/{id}'

/** Routes of actions that wait for other operators. */
export const approvalRoutes = [
  defineApiRoute(
    {
      ...{ path: '/approvals', method: 'GET', permission: 'approvals.read', operation: 'listApprovals', tag },
      summary: 'Lists what waits for approval, and what did in the last 30 days.',
      query: z.strictObject(listQuery),
      output: listOf(shownApproval),
    },
    async ({ parts, query }) => {
      const { items, ...rest } = await readPage(
        { query, cursors: parts.cursors },
        {
          name: 'approvals',
          read: (after, limit) => listApprovals(parts, after, limit),
          idOf: ({ id }) => id,
        },
      )
      return { data: { items: items.map(show), ...rest } }
    },
  ),
  defineApiRoute(
    {
      ...{ path, method: 'GET', permission: 'approvals.read', operation: 'readApproval', tag },
      summary: 'Reads what waits, with the document and the digest to sign.',
      output: shownApproval,
    },
    async ({ parts, path: at }) => {
      const found = await readApproval(parts, at('id'))
      if (found === undefined) throw new Problem(404, 'unknown', 'There is no such object.')
      return { data: show(found) }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/approve`, method: 'POST', permission: 'approvals.decide', operation: 'approve', tag },
      summary:
        'Approves with a passkey, whose challenge is the digest, or by a request that an attested device has signed. The last approval carries the action out.',
      body: z.strictObject({
        assertion: z.string().max(16_384).optional().describe('Of a passkey: an `AuthenticationResponseJSON` as text.'),
        digest: z
          .string()
          .max(64)
          .optional()
          .describe('Of a device: the digest. The request has `X-Attestation` and `X-Signature`, which cover it.'),
      }),
      output: z.object({ id: z.string(), state, missing: z.int(), note: z.string().optional() }),
    },
    async ({ parts, by, operator, body, path: at, request }) => {
      const { devices } = parts.operators
      const signed = operator.proof === 'device' ? signedByDevice(request) : signedByPasskey(parts, request, body)
      return { data: unlessRefused(await approve(parts, by, { id: at('id'), operator, signed, devices })) }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/refuse`, method: 'POST', permission: 'approvals.decide', operation: 'refuseApproval', tag },
      summary: 'Ends what waits without carrying it out.',
      body: z.strictObject({ reason: z.string().min(1).max(500).optional() }),
      output: z.object({ id: z.string() }),
    },
    async ({ parts, by, body, path: at }) => ({
      data: unlessRefused(await declineApproval(parts, by, { id: at('id'), reason: body.reason })),
    }),
  ),
]
