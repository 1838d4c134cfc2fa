import { z } from 'zod'
import { addClient, updateClient } from '../../administration/client-metadata.js'
import { isRefusal, type Refusal } from '../../administration/administration.js'
import { unlessRefused } from '../../admin-api/problem.js'
import type { Problem as Fault } from '../../../config/problems.js'
import { toMetadata } from '../../oauth/clients/client-metadata.js'
import { pathTo } from '../cells.js'
import { clientFieldNames, clientFormGroups, otherFaults, readClientForm, writeClientForm } from '../client-form.js'
import { defineForm, definePage, type ConsoleCall, type ConsoleView } from '../console-page.js'
import { findClient } from './clients.js'

const text = z.string().max(20_000).optional()

const written = z.strictObject({
  ...Object.fromEntries(clientFieldNames.map((name) => [name, text])),
  client_id: z.string().max(255).optional(),
  etag: z.string().max(64).optional(),
})

type Written = Readonly<Record<string, string | undefined>>

interface FormPage {
  readonly clientId?: string
  readonly title: string
  readonly written: Written
  readonly faults?: readonly Fault[]
}

const formPage = (
  { texts, parts }: Pick<ConsoleCall<unknown>, 'texts' | 'parts'>,
  { clientId, title, written: values, faults = [] }: FormPage,
): ConsoleView => {
  const at = clientId === undefined ? '/clients' : pathTo('clients', clientId)
  const groups = clientFormGroups(texts, parts.config.scopes_supported, values, faults)
  const idField = {
    ...{ name: 'client_id', label: texts.text('client.field.client_id'), hint: texts.text('client.hint.client_id') },
    ...{ value: values['client_id'] ?? '', isCode: true },
    fault: faults.find(({ path }) => path === 'client_id')?.message,
  }
  const others = otherFaults(faults).filter(({ path }) => path !== 'client_id')
  return {
    view: 'form',
    title,
    ...(faults.length > 0 && { status: 400 }),
    data: {
      crumb:
        clientId === undefined
          ? { href: '/clients', title: texts.text('clients.title') }
          : { href: at, title: clientId },
      ...(faults.length > 0 && {
        problem: [texts.text('client.invalid'), ...others.map(({ path, message }) => `${path} ${message}`)].join(' '),
      }),
      ...{ action: clientId === undefined ? '/clients/new' : `${at}/edit`, cancel: at },
      hidden: { etag: values['etag'] ?? '' },
      groups:
        clientId === undefined
          ? groups.map((group, index) => (index === 0 ? { ...group, fields: [...group.fields, idField] } : group))
          : groups,
      button: texts.text(clientId === undefined ? 'client.create' : 'common.save'),
    },
  }
}

const faultsOf = (refused: Refusal): readonly Fault[] | undefined =>
  refused.refused === 'invalid' && 'problems' in refused ? (refused.problems as readonly Fault[]) : undefined

const created = { redirect_uris: '', grant_types: 'authorization_code refresh_token', application_type: 'web' }

export const editClientPages = [
  definePage({ path: '/clients/new', permission: 'clients.write', section: 'clients' }, (call) =>
    Promise.resolve(formPage(call, { title: call.texts.text('clients.new'), written: created })),
  ),
  defineForm(
    { path: '/clients/new', permission: 'clients.write', section: 'clients', input: written },
    async (call) => {
      const { parts, by, texts } = call
      const input: Written = call.input
      const members = Object.entries(readClientForm(input)).filter(([, value]) => value !== null)
      const { client_id } = input
      const metadata = { ...Object.fromEntries(members), ...(client_id !== undefined && { client_id }) }
      const added = await addClient(parts, by, { checked: parts.checked, metadata })
      const faults = isRefusal(added) ? faultsOf(added) : undefined
      if (faults !== undefined) return formPage(call, { title: texts.text('clients.new'), written: input, faults })
      const { client_id: id, client_secret } = unlessRefused(added)
      if (client_secret === undefined) return { to: pathTo('clients', id), notice: 'client_created' }
      return {
        view: 'secret',
        title: texts.text('client.created'),
        data: {
          secrets: [
            [texts.text('client.field.client_id'), id],
            [texts.text('client.secret'), client_secret],
          ],
          done: pathTo('clients', id),
        },
      }
    },
  ),
  definePage({ path: '/clients/{client_id}/edit', permission: 'clients.write', section: 'clients' }, async (call) => {
    const { client, etag } = await findClient(call.parts, call.path('client_id'))
    return formPage(call, {
      clientId: client.client_id,
      title: call.texts.text('client.edit.title', { name: client.client_name ?? client.client_id }),
      written: { ...writeClientForm(toMetadata(client)), etag },
    })
  }),
  defineForm(
    { path: '/clients/{client_id}/edit', permission: 'clients.write', section: 'clients', input: written },
    async (call) => {
      const { parts, by, texts, path } = call
      const client_id = path('client_id')
      const { etag: ifMatch, ...input }: Written = call.input
      const metadata = readClientForm(input)
      const changed = await updateClient(parts, by, { checked: parts.checked, metadata, client_id, ifMatch })
      const faults = isRefusal(changed) ? faultsOf(changed) : undefined
      const title = texts.text('client.edit.title', { name: client_id })
      if (faults !== undefined)
        return formPage(call, { clientId: client_id, title, written: { ...input, etag: ifMatch }, faults })
      unlessRefused(changed)
      return { to: pathTo('clients', client_id), notice: 'client_changed' }
    },
  ),
]
