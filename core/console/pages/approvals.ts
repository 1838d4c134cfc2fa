import { z } from 'zod'
import {
  approve,
  declineApproval,
  listApprovals,
  readApproval,
  type ListedApproval,
} from '../../administration/approvals.js'
import { listQuery, readPage } from '../../admin-api/lists.js'
import { Problem, unlessRefused } from '../../admin-api/problem.js'
import type { Translator } from '../../interaction/languages/translator.js'
import { assertionOptions, hasPasskeys } from '../../operators/passkeys.js'
import { defineForm, definePage, type ConsoleCall } from '../console-page.js'
import { pagerOf } from '../pager.js'

const stateOf = ({ state, isExpired }: ListedApproval): string => (isExpired ? 'expired' : state)

const row = (texts: Translator, approval: ListedApproval) => ({
  ...{ id: approval.id, action: approval.action.action, object: approval.action.object },
  by: approval.action.requested_by.operator,
  at: Date.parse(approval.action.at),
  expires: approval.expiresAt,
  state: texts.text(`approvals.state.${stateOf(approval)}`),
  isOpen: stateOf(approval) === 'waiting',
  ...{ approvedBy: approval.approvedBy.join(', '), needed: approval.action.approvals },
})

/** Returns the request for an authenticator, for an operator who may approve this here. */
const optionsFor = async ({ parts, operator, request, may }: ConsoleCall<unknown>, approval: ListedApproval) => {
  const site = parts.operators.site(request)
  if (stateOf(approval) !== 'waiting' || site === undefined || !hasPasskeys(site) || !may('approvals.decide'))
    return undefined
  const known = await parts.operators.directory.find(operator.name)
  const passkeys = known?.credentials.filter((own) => own.kind === 'passkey') ?? []
  return passkeys.length === 0 ? undefined : JSON.stringify(assertionOptions(site, approval.digest, passkeys))
}

export const approvalPages = [
  definePage(
    {
      ...{ path: '/approvals', permission: 'approvals.read', section: 'approvals' },
      input: z.strictObject(listQuery),
    },
    async ({ input, parts, texts }) => {
      const { items, next_cursor } = await readPage(
        { query: input, cursors: parts.cursors },
        {
          name: 'approvals',
          read: (after, limit) => listApprovals(parts, after, limit),
          idOf: ({ id }) => id,
        },
      )
      return {
        view: 'approvals',
        title: texts.text('nav.approvals'),
        data: { items: items.map((item) => row(texts, item)), ...pagerOf({}, input.cursor, next_cursor) },
      }
    },
  ),
  definePage({ path: '/approvals/{id}', permission: 'approvals.read', section: 'approvals' }, async (call) => {
    const { parts, path, texts, operator, may } = call
    const found = await readApproval(parts, path('id'))
    if (found === undefined) throw new Problem(404, 'unknown', 'There is no such object.')
    const { requested_by: by } = found.action
    const isOwn = [by.operator, by['issued_by']].includes(operator.name)
    const options = isOwn ? undefined : await optionsFor(call, found)
    return {
      view: 'approval',
      title: texts.text('approvals.one'),
      data: {
        ...{ item: row(texts, found), isOwn, options, script: options && 'passkey-login.js' },
        ...{ digest: found.digest, document: JSON.stringify(found.action, null, 2) },
        mayRefuse: stateOf(found) === 'waiting' && may('approvals.decide'),
      },
    }
  }),
  defineForm(
    {
      ...{ path: '/approvals/{id}', permission: 'approvals.decide', section: 'approvals' },
      input: z.object({ answer: z.string().max(16_384) }),
    },
    async ({ parts, by, operator, path, input: { answer }, request }) => {
      const site = parts.operators.site(request)
      if (site === undefined)
        throw new Problem(409, 'no_site', 'The request came under an address that has no passkeys.')
      const { devices } = parts.operators
      const given = { id: path('id'), operator, signed: { site, answer }, devices }
      const { state } = unlessRefused(await approve(parts, by, given))
      return { to: `/approvals/${path('id')}`, notice: `approval_${state}` }
    },
  ),
  defineForm(
    { path: '/approvals/{id}/refuse', permission: 'approvals.decide', section: 'approvals' },
    async ({ parts, by, path }) => {
      unlessRefused(await declineApproval(parts, by, { id: path('id') }))
      return { to: `/approvals/${path('id')}`, notice: 'approval_refused' }
    },
  ),
]
