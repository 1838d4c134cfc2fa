import { z } from 'zod'
import { rotateClientSecret } from '../../administration/client-metadata.js'
import { readClient, removeClient, setClientDisabled, usesOf, type ListedClient } from '../../administration/clients.js'
import type { ApiParts } from '../../admin-api/api-route.js'
import { listQuery, searchQuery } from '../../admin-api/lists.js'
import { readClients } from '../../admin-api/searched-lists.js'
import { Problem, unlessRefused } from '../../admin-api/problem.js'
import type { Translator } from '../../interaction/languages/translator.js'
import { pathTo, type Cell } from '../cells.js'
import { clientCode } from '../client-code.js'
import { authenticationOf, effectiveSection, settingsOf, tryUrl, usesSection } from '../client-settings.js'
import { definePage, defineForm } from '../console-page.js'
import { pagerOf } from '../pager.js'

const rowOf = (texts: Translator, client: ListedClient): readonly Cell[] => [
  {
    text: client.client_name ?? client.client_id,
    small: client.client_name === undefined ? undefined : client.client_id,
    href: pathTo('clients', client.client_id),
  },
  { small: client.grant_types.map((grant) => grant.replace('urn:ietf:params:oauth:grant-type:', '')).join(', ') },
  { small: authenticationOf(client) },
  { text: texts.text(`clients.from.${client.source}`) },
  client.disabled === true
    ? { text: texts.text('common.disabled'), tone: 'bad' }
    : { text: texts.text('common.active'), tone: 'good' },
]

/** Throws `Problem` when there is no such client. */
export const findClient = async (parts: ApiParts, clientId: string) => {
  const found = await readClient(parts, clientId)
  if (found === undefined) throw new Problem(404, 'unknown', 'There is no such client.')
  return found
}

export const clientPages = [
  definePage(
    {
      ...{ path: '/clients', permission: 'clients.read', section: 'clients' },
      input: z.strictObject({ ...listQuery, ...searchQuery }),
    },
    async ({ input, parts, texts, may }) => {
      const { search } = input
      const { items, next_cursor } = await readClients(parts, input)
      const actions = may('clients.write')
        ? [{ href: '/clients/new', title: texts.text('clients.new'), primary: true }]
        : []
      return {
        view: 'list',
        title: texts.text('clients.title'),
        data: {
          ...{ actions, emptyAction: search === undefined ? actions[0] : undefined },
          searchField: { action: '/clients', label: texts.text('clients.search'), value: search },
          empty: texts.text(search === undefined ? 'clients.none' : 'clients.none_found'),
          table: {
            columns: ['client', 'grants', 'authentication', 'source', 'state'].map((name) =>
              texts.text(`clients.${name}`),
            ),
            rows: items.map((client) => rowOf(texts, client)),
          },
          ...pagerOf({ search }, input.cursor, next_cursor),
        },
      }
    },
  ),
  definePage({ path: '/clients/{client_id}', permission: 'clients.read', section: 'clients' }, async (call) => {
    const { parts, texts, may, path } = call
    const { client } = await findClient(parts, path('client_id'))
    const uses = await usesOf(parts, [client.client_id])
    const at = pathTo('clients', client.client_id)
    const isOwn = client.source === 'configuration'
    const mayWrite = may('clients.write') && !isOwn
    const isDisabled = client.disabled === true
    const name = client.client_name ?? client.client_id
    return {
      view: 'detail',
      title: name,
      data: {
        crumb: { href: '/clients', title: texts.text('clients.title') },
        state: isDisabled
          ? { tone: 'bad', text: texts.text('common.disabled') }
          : { tone: 'good', text: texts.text('common.active') },
        ...(isOwn && { lead: texts.text('client.configured') }),
        actions: mayWrite ? [{ href: `${at}/edit`, title: texts.text('client.edit'), primary: true }] : [],
        sections: [
          usesSection(texts, uses.get(client.client_id)),
          ...settingsOf(texts, client),
          effectiveSection(texts, parts.config, client),
          ...(client.redirect_uris.length === 0 || isDisabled
            ? []
            : [
                {
                  title: texts.text('client.try'),
                  lead: texts.text('client.try.lead'),
                  facts: client.redirect_uris.map(
                    (uri) =>
                      [
                        uri,
                        { text: texts.text('client.try.open'), url: tryUrl(parts.config.issuer, client, uri) },
                      ] as const,
                  ),
                },
              ]),
          ...clientCode(texts, parts.config.issuer, client),
          {
            title: texts.text('client.actions'),
            links: [
              ...(may('audit.read')
                ? [
                    {
                      href: `/audit?object=${encodeURIComponent(`client:${client.client_id}`)}`,
                      title: texts.text('common.history'),
                    },
                  ]
                : []),
              ...(mayWrite
                ? [
                    ...(client.client_secret_sha256 === undefined
                      ? []
                      : [{ href: `${at}/secret`, title: texts.text('client.secret.rotate') }]),
                    {
                      href: `${at}/${isDisabled ? 'enable' : 'disable'}`,
                      title: texts.text(isDisabled ? 'client.enable' : 'client.disable'),
                    },
                    { href: `${at}/delete`, title: texts.text('client.delete'), danger: true },
                  ]
                : []),
            ],
          },
        ].filter((section) => !('links' in section) || section.links.length > 0),
      },
    }
  }),
]

const etag = z.string().max(64)

/** The page before a change that breaks something for others, and the change itself. */
const confirmed = (
  name: 'disable' | 'enable' | 'delete' | 'secret',
  act: (
    parts: ApiParts,
    by: Parameters<typeof removeClient>[1],
    which: { readonly client_id: string; readonly ifMatch: string },
  ) => Promise<unknown>,
) => {
  const declared = { path: `/clients/{client_id}/${name}`, permission: 'clients.write', section: 'clients' } as const
  return [
    definePage(declared, async ({ parts, texts, path }) => {
      const { client, etag: version } = await findClient(parts, path('client_id'))
      const at = pathTo('clients', client.client_id)
      return {
        view: 'confirm',
        title: texts.text(`client.${name}.title`),
        data: {
          crumb: { href: at, title: client.client_name ?? client.client_id },
          consequences: [1, 2].map((number) => texts.text(`client.${name}.consequence.${String(number)}`)),
          ...{ action: `${at}/${name}`, cancel: at, hidden: { etag: version } },
          ...(name === 'delete' && { typed: client.client_id }),
          ...(name === 'secret' && {
            fields: [
              {
                ...{ kind: 'select', name: 'overlap', label: texts.text('client.secret.overlap') },
                value: '86400',
                options: [0, 3600, 86_400, 604_800].map((seconds) => ({
                  value: String(seconds),
                  title: texts.text(`client.secret.overlap.${String(seconds)}`),
                })),
              },
            ],
          }),
          button: texts.text(name === 'secret' ? 'client.secret.rotate' : `client.${name}`),
        },
      }
    }),
    ...(name === 'secret'
      ? []
      : [
          defineForm(
            { ...declared, input: z.strictObject({ etag, typed: z.string().max(255).optional() }) },
            async ({ parts, by, path, input }) => {
              const client_id = path('client_id')
              if (name === 'delete' && input.typed !== client_id)
                throw new Problem(400, 'name_mismatch', 'The name that was typed is another one.')
              await act(parts, by, { client_id, ifMatch: input.etag })
              return name === 'delete'
                ? { to: '/clients', notice: 'client_deleted' }
                : { to: pathTo('clients', client_id), notice: `client_${name}d` }
            },
          ),
        ]),
  ]
}

export const clientForms = [
  ...confirmed('disable', async (parts, by, which) =>
    unlessRefused(await setClientDisabled(parts, by, { ...which, disabled: true })),
  ),
  ...confirmed('enable', async (parts, by, which) =>
    unlessRefused(await setClientDisabled(parts, by, { ...which, disabled: false })),
  ),
  ...confirmed('delete', async (parts, by, which) => unlessRefused(await removeClient(parts, by, which))),
  ...confirmed('secret', () => Promise.resolve()),
  defineForm(
    {
      ...{ path: '/clients/{client_id}/secret', permission: 'clients.write', section: 'clients' },
      input: z.strictObject({ etag, overlap: z.coerce.number().int().min(0).max(7_776_000) }),
    },
    async ({ parts, by, path, input, texts }) => {
      const client_id = path('client_id')
      const overlap = input.overlap === 0 ? undefined : input.overlap
      const { client_secret } = unlessRefused(
        await rotateClientSecret(parts, by, { client_id, overlap, ifMatch: input.etag }),
      )
      return {
        view: 'secret',
        title: texts.text('client.secret.new'),
        data: {
          secrets: [
            [texts.text('client.field.client_id'), client_id],
            [texts.text('client.secret'), client_secret],
          ],
          done: pathTo('clients', client_id),
        },
      }
    },
  ),
]
