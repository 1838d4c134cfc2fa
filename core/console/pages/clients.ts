import { z } from 'zod'
import { listClientsAfter, type ListedClient } from '../../administration/clients.js'
import { listQuery, readPage } from '../../admin-api/lists.js'
import type { Translator } from '../../interaction/languages/translator.js'
import { definePage } from '../console-page.js'
import { pagerOf } from '../pager.js'

const row = (texts: Translator, client: ListedClient) => ({
  id: client.client_id,
  name: client.client_name ?? client.client_id,
  grants: client.grant_types.join(', '),
  authentication: client.token_endpoint_auth_method ?? 'client_secret_basic',
  source: texts.text(`clients.from.${client.source}`),
  disabled: client.disabled === true,
})

export const clientPages = [
  definePage(
    {
      ...{ path: '/clients', permission: 'clients.read', section: 'clients' },
      input: z.strictObject({ ...listQuery, search: z.string().max(200).optional() }),
    },
    async ({ input, parts, texts, may }) => {
      const { search } = input
      const { items, next_cursor } = await readPage(
        { query: input, cursors: parts.cursors },
        {
          name: 'clients',
          read: (after, limit) => listClientsAfter(parts, after, limit),
          idOf: ({ client_id }) => client_id,
        },
      )
      return {
        view: 'clients',
        title: texts.text('clients.title'),
        data: {
          items: items.map((client) => row(texts, client)),
          mayWrite: may('clients.write'),
          search,
          ...pagerOf({ search }, input.cursor, next_cursor),
        },
      }
    },
  ),
]
