import { issueOperatorLink } from '../../administration/operator-links.js'
import { z } from 'zod'
import {
  addCredential,
  addOperator,
  listOperators,
  readOperator,
  removeCredential,
  removeOperator,
  updateOperator,
  type ListedOperator,
} from '../../administration/operator-people.js'
import { certificateSubject } from '../../oauth/clients/client-certificate-subject.js'
import { isoTime } from '../../clock.js'
import type { OperatorCredential } from '../../operators/operator-record.js'
import { defineApiRoute } from '../api-route.js'
import { listOf, listQuery, readPage } from '../lists.js'
import { Problem, unlessRefused } from '../problem.js'

const shownCredential = z.object({
  id: z.string(),
  kind: z.enum(['passkey', 'certificate', 'oidc', 'device']),
  name: z.string().optional(),
  /** A passkey's, for the configuration. */
  credential_id: z.string().optional(),
  public_key: z.string().optional(),
  certificate: z.record(z.string(), z.string()).optional(),
  oidc_sub: z.string().optional(),
  device: z.string().optional(),
  created_at: z.iso.datetime().optional(),
})

const shownOperator = z.object({
  name: z.string(),
  source: z.enum(['configuration', 'store']),
  roles: z.array(z.string()),
  disabled: z.boolean(),
  credentials: z.array(shownCredential),
})

const showCredential = (credential: ListedOperator['credentials'][number]): z.output<typeof shownCredential> => {
  const { id, kind } = credential
  if (kind === 'certificate')
    return { id, kind, certificate: JSON.parse(JSON.stringify(credential.subject)) as Record<string, string> }
  if (kind === 'oidc') return { id, kind, oidc_sub: credential.sub }
  if (kind === 'device') return { id, kind, device: credential.principal }
  const { credentialId, publicKey, name, createdAt } = credential
  return {
    ...{ id, kind, credential_id: credentialId, public_key: publicKey },
    ...(name !== undefined && { name }),
    ...(createdAt !== undefined && { created_at: isoTime(createdAt * 1000) }),
  }
}

const show = ({ name, source, roles, disabled, credentials }: ListedOperator): z.output<typeof shownOperator> => ({
  ...{ name, source, roles: [...roles], disabled },
  credentials: credentials.map(showCredential),
})

const roles = z.array(z.string().max(64)).max(20)

const newCredential = z
  .strictObject({
    certificate: z.strictObject(certificateSubject).optional(),
    oidc_sub: z.string().min(1).max(255).optional(),
    device: z.string().min(1).max(512).optional(),
  })
  .refine((value) => Object.keys(value).length === 1, 'must have one member')
  .refine(
    ({ certificate }) => certificate === undefined || Object.keys(certificate).length === 1,
    'a certificate must have one subject',
  )

const readCredential = ({ certificate, oidc_sub: sub, device }: z.output<typeof newCredential>): OperatorCredential => {
  if (certificate !== undefined) return { kind: 'certificate', subject: certificate }
  return sub === undefined ? { kind: 'device', principal: device ?? '' } : { kind: 'oidc', sub }
}

const tag = 'Operators'
const path = '/operators/{name}'

/** Routes of the operators whom the configuration and the store know. */
export const operatorPeopleRoutes = [
  defineApiRoute(
    {
      ...{ path: '/operators', method: 'GET', permission: 'operators.read', operation: 'listOperators', tag },
      summary: 'Lists operators, with their credentials.',
      query: z.strictObject(listQuery),
      output: listOf(shownOperator),
    },
    async ({ parts, query }) => {
      const all = await listOperators(parts)
      const { items, ...rest } = await readPage(
        { query, cursors: parts.cursors },
        {
          name: 'operators',
          read: (after, limit) =>
            Promise.resolve(all.filter(({ name }) => after === undefined || name > after).slice(0, limit)),
          idOf: ({ name }) => name,
        },
      )
      return { data: { items: items.map(show), ...rest } }
    },
  ),
  defineApiRoute(
    {
      ...{ path: '/operators', method: 'POST', permission: 'operators.write', operation: 'addOperator', tag },
      summary: 'Adds an operator, with roles that permit no more than your own.',
      body: z.strictObject({ name: z.string().min(1).max(64), roles, disabled: z.boolean().default(false) }),
      ...{ output: shownOperator, status: 201, idempotent: true },
    },
    async ({ parts, by, operator: issuer, body }) => {
      const added = unlessRefused(await addOperator(parts, by, { ...body, issuer }))
      return { data: show(added), etag: added.etag, location: `/operators/${encodeURIComponent(added.name)}` }
    },
  ),
  defineApiRoute(
    {
      ...{ path, method: 'GET', permission: 'operators.read', operation: 'readOperator', tag },
      summary: 'Reads one operator.',
      output: shownOperator,
    },
    async ({ parts, path: at }) => {
      const found = await readOperator(parts, at('name'))
      if (found === undefined) throw new Problem(404, 'unknown', 'There is no such object.')
      return { data: show(found), etag: found.etag }
    },
  ),
  defineApiRoute(
    {
      ...{ path, method: 'PATCH', permission: 'operators.write', operation: 'updateOperator', tag },
      summary: 'Changes the roles of an operator, or disables one, whose sessions end then.',
      body: z.strictObject({ roles: roles.optional(), disabled: z.boolean().optional() }),
      ...{ output: shownOperator, conditional: true },
    },
    async ({ parts, by, operator: issuer, body, path: at, ifMatch }) => {
      const changed = unlessRefused(await updateOperator(parts, by, { ...body, name: at('name'), issuer, ifMatch }))
      return { data: show(changed), etag: changed.etag }
    },
  ),
  defineApiRoute(
    {
      ...{ path, method: 'DELETE', permission: 'operators.write', operation: 'removeOperator', tag },
      summary: 'Removes an operator of the store. Their sessions end.',
      conditional: true,
    },
    async ({ parts, by, operator: issuer, path: at, ifMatch }) => {
      unlessRefused(await removeOperator(parts, by, { name: at('name'), issuer, ifMatch }))
      return { data: undefined }
    },
  ),
  defineApiRoute(
    {
      ...{
        path: `${path}/credentials`,
        method: 'POST',
        permission: 'operators.write',
        operation: 'addCredential',
        tag,
      },
      summary: 'Adds a certificate, a person of `operators.oidc`, or an attested device to an operator.',
      body: newCredential,
      ...{ output: shownOperator, status: 201, conditional: true },
    },
    async ({ parts, by, operator: issuer, body, path: at, ifMatch }) => {
      const credential = readCredential(body)
      const changed = unlessRefused(await addCredential(parts, by, { name: at('name'), issuer, ifMatch, credential }))
      return { data: show(changed), etag: changed.etag }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/credentials/{id}`, method: 'DELETE', permission: 'operators.write' },
      ...{ operation: 'removeCredential', tag },
      summary: 'Removes a credential of an operator. Sessions that it opened end.',
    },
    async ({ parts, by, operator: issuer, path: at }) => {
      unlessRefused(await removeCredential(parts, by, { name: at('name'), issuer, id: at('id') }))
      return { data: undefined }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/links`, method: 'POST', permission: 'operators.write', operation: 'issueOperatorLink', tag },
      summary:
        'Makes a link that signs in an operator without a credential, once and within 15 minutes. It is in this answer only.',
      output: z.object({ path: z.string(), expires_at: z.iso.datetime() }),
      status: 201,
    },
    async ({ parts, by, operator: issuer, path: at }) => {
      const { path: link, expiresAt } = unlessRefused(await issueOperatorLink(parts, by, { name: at('name'), issuer }))
      return { data: { path: link, expires_at: isoTime(expiresAt) } }
    },
  ),
]
