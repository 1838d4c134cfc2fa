import { z } from 'zod'
import { addClient, rotateClientSecret, updateClient } from '../../administration/client-metadata.js'
import { readClient, removeClient, usesOf, type ListedClient } from '../../administration/clients.js'
import { effectiveSettings } from '../../administration/effective-client.js'
import type { JsonObject } from '../../json.js'
import { toMetadata } from '../../oauth/clients/client-metadata.js'
import type { ClientUse } from '../../oauth/clients/client-uses.js'
import { metadataSchema } from '../../oauth/clients/client-metadata-schema.js'
import { defineApiRoute, type ApiParts } from '../api-route.js'
import { listOf, listQuery, searchQuery } from '../lists.js'
import { readClients } from '../searched-lists.js'
import { Problem, unlessRefused } from '../problem.js'

/** Metadata as operators write it; `core/oauth/clients` checks each member. */
const writtenMetadata = z.record(z.string(), z.json())

/** Each member may be given, and null removes it (RFC 7396). */
const patchedMetadata = z.object(
  Object.fromEntries(Object.entries(metadataSchema.shape).map(([name, member]) => [name, z.nullish(member)])),
)

const shownClient = z
  .looseObject({
    client_id: z.string(),
    source: z.enum(['configuration', 'store', 'registration']),
    disabled: z.boolean(),
    has_secret: z.boolean(),
    client_secret_expires_at: z.int().optional(),
    previous_client_secret_expires_at: z.int().optional(),
    last_used: z.iso.date().optional().describe('The day on which it got tokens last (UTC), within 400 days.'),
    algorithms: z
      .record(z.string(), z.iso.date())
      .optional()
      .describe('The algorithms that its tokens were signed with, each with the last day.'),
  })
  .describe('A client: its metadata (RFC 7591 §2), where it is from, and its state. Secrets are never shown.')

const effective = z
  .record(z.string(), z.object({ value: z.json(), from: z.enum(['client', 'deployment', 'default']) }))
  .describe('The settings that apply to the client, and where each comes from.')

const written = z.object({
  client_id: z.string(),
  /** Shown only in this answer. */
  client_secret: z.string().optional(),
  warnings: z.array(z.object({ path: z.string(), message: z.string() })),
})

const show = ({ source, ...client }: ListedClient, use?: ClientUse): z.output<typeof shownClient> => ({
  ...toMetadata(client),
  ...{ client_id: client.client_id, source, disabled: client.disabled === true },
  has_secret: client.client_secret_sha256 !== undefined,
  ...(client.previous_client_secret_expires_at !== undefined && {
    previous_client_secret_expires_at: client.previous_client_secret_expires_at,
  }),
  ...(use !== undefined && { last_used: use.last, algorithms: use.algorithms }),
})

const showAll = async (parts: ApiParts, clients: readonly ListedClient[]) => {
  const uses = await usesOf(
    parts,
    clients.map(({ client_id }) => client_id),
  )
  return clients.map((client) => show(client, uses.get(client.client_id)))
}

/** Throws `Problem` when there is no such client. */
const find = async (parts: ApiParts, clientId: string) => {
  const found = await readClient(parts, clientId)
  if (found === undefined) throw new Problem(404, 'unknown', 'There is no such client.')
  return found
}

const path = '/clients/{client_id}'
const tag = 'Clients'

export const clientRoutes = [
  defineApiRoute(
    {
      ...{ path: '/clients', method: 'GET', permission: 'clients.read', operation: 'listClients', tag },
      summary: 'Lists clients in the order of their ids.',
      query: z.strictObject({ ...listQuery, ...searchQuery }),
      output: listOf(shownClient),
    },
    async ({ query, parts }) => {
      const { items, ...next } = await readClients(parts, query)
      return { data: { items: await showAll(parts, items), ...next } }
    },
  ),
  defineApiRoute(
    {
      ...{ path: '/clients', method: 'POST', permission: 'clients.write', operation: 'createClient', tag },
      summary: 'Creates a client. The secret that is generated for it is in this answer only.',
      body: writtenMetadata,
      documentedBody: metadataSchema.partial({ client_id: true }),
      ...{ output: written, status: 201, idempotent: true },
    },
    async ({ parts, by, body }) => {
      const added = unlessRefused(await addClient(parts, by, { checked: parts.checked, metadata: body }))
      const { etag } = await find(parts, added.client_id)
      return {
        data: { ...added, warnings: [...added.warnings] },
        etag,
        location: `/clients/${encodeURIComponent(added.client_id)}`,
      }
    },
  ),
  defineApiRoute(
    {
      ...{ path, method: 'GET', permission: 'clients.read', operation: 'readClient', tag },
      summary: 'Reads one client.',
      output: shownClient.extend({ effective }),
    },
    async ({ parts, path: at }) => {
      const { client, etag } = await find(parts, at('client_id'))
      const [shown] = await showAll(parts, [client])
      const settings = effectiveSettings(parts.config, client) as z.output<typeof effective>
      return { data: { ...(shown ?? show(client)), effective: settings }, etag }
    },
  ),
  defineApiRoute(
    {
      ...{ path, method: 'PATCH', permission: 'clients.write', operation: 'updateClient', tag },
      summary: 'Changes members of a client (RFC 7396): null removes one. `disabled` refuses all of its requests.',
      body: writtenMetadata,
      documentedBody: patchedMetadata,
      ...{ output: written, conditional: true },
    },
    async ({ parts, by, body, path: at, ifMatch }) => {
      const client_id = at('client_id')
      const metadata = body as JsonObject
      const changed = unlessRefused(
        await updateClient(parts, by, { checked: parts.checked, metadata, client_id, ifMatch }),
      )
      const { etag } = await find(parts, client_id)
      return { data: { ...changed, warnings: [...changed.warnings] }, etag }
    },
  ),
  defineApiRoute(
    {
      ...{ path, method: 'DELETE', permission: 'clients.write', operation: 'deleteClient', tag },
      summary: 'Deletes a client. Its tokens stay valid until they expire, but it cannot authenticate any more.',
      conditional: true,
    },
    async ({ parts, by, path: at, ifMatch }) => {
      unlessRefused(await removeClient(parts, by, { client_id: at('client_id'), ifMatch }))
      return { data: undefined }
    },
  ),
  defineApiRoute(
    {
      ...{ path: `${path}/secrets`, method: 'POST', permission: 'clients.write', operation: 'rotateClientSecret', tag },
      summary: 'Replaces the secret of a client. The new one is in this answer only.',
      body: z.strictObject({
        overlap: z
          .int()
          .min(1)
          .max(90 * 86_400)
          .optional()
          .describe('Seconds for which the previous secret stays valid.'),
      }),
      output: z.object({
        client_id: z.string(),
        client_secret: z.string(),
        previous_client_secret_expires_at: z.int().optional(),
      }),
      ...{ status: 201, conditional: true, idempotent: true },
    },
    async ({ parts, by, body, path: at, ifMatch }) => {
      const client_id = at('client_id')
      const data = unlessRefused(await rotateClientSecret(parts, by, { client_id, overlap: body.overlap, ifMatch }))
      const { etag } = await find(parts, client_id)
      return { data, etag }
    },
  ),
]
