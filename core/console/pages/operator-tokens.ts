import { issueOperatorToken, listOperatorTokens, revokeOperatorToken } from '../../administration/operators.js'
import { Problem, unlessRefused } from '../../admin-api/problem.js'
import { code, pathTo, timeCell, type Section } from '../cells.js'
import { defineForm, definePage, type ConsoleCall } from '../console-page.js'
import { operatorForm, readRoles, roleInput } from '../operator-roles.js'

/** The tokens of programs, on the page of operators. */
export const tokensSection = async (call: ConsoleCall<never>): Promise<Section> => {
  const { parts, texts, may } = call
  const tokens = await listOperatorTokens(parts)
  return {
    title: texts.text('operators.tokens'),
    lead: texts.text('operators.tokens.lead'),
    table: {
      columns: ['name', 'roles', 'issued_by', 'expires'].map((name) => texts.text(`operators.${name}`)).concat(''),
      rows: tokens.map(({ id, name, roles, issuedBy, expiresAt }) => [
        { text: name, small: id },
        code(roles.join(' ')),
        { text: issuedBy },
        timeCell(texts, expiresAt),
        may('operators.write')
          ? {
              buttons: [
                {
                  action: pathTo('operators', 'tokens', id, 'revoke'),
                  title: texts.text('common.revoke'),
                  danger: true,
                },
              ],
            }
          : {},
      ]),
    },
    empty: texts.text('operators.no_tokens'),
    links: may('operators.write') ? [{ href: '/operators/tokens/new', title: texts.text('operators.new_token') }] : [],
  }
}

const write = { permission: 'operators.write', section: 'operators' } as const

export const operatorTokenPages = [
  definePage({ path: '/operators/tokens/new', ...write }, (call) =>
    Promise.resolve(operatorForm(call as ConsoleCall<never>, 'token', '/operators/tokens/new')),
  ),
  defineForm(
    { path: '/operators/tokens/new', ...write, input: roleInput },
    async ({ parts, by, operator: issuer, texts, input }) => {
      const wanted = { name: input.name ?? '', roles: readRoles(input), expiresIn: (input.days ?? 90) * 86_400, issuer }
      if (wanted.roles.length === 0) throw new Problem(400, 'no_role', 'Choose at least one role.')
      const { id, token } = unlessRefused(await issueOperatorToken(parts, by, wanted))
      return {
        view: 'secret',
        title: texts.text('operators.issued'),
        data: {
          secrets: [
            ['ID', id],
            [texts.text('operators.token'), token],
          ],
          done: '/operators',
        },
      }
    },
  ),
  defineForm({ path: '/operators/tokens/{id}/revoke', ...write }, async ({ parts, by, path }) => {
    unlessRefused(await revokeOperatorToken(parts, by, path('id')))
    return { to: '/operators', notice: 'token_revoked' }
  }),
]
