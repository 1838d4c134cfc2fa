import { z } from 'zod'
import { permissions, rolesOf } from '../operators/permissions.js'
import { code, type Section } from './cells.js'
import type { ConsoleCall } from './console-page.js'

/** Checked roles of a form: `role.viewer=on`. */
export const readRoles = (input: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.keys(input).flatMap((name) => (name.startsWith('role.') ? [name.slice(5)] : []))

/** The fields of forms with roles. */
export const roleInput = z.looseObject({
  etag: z.string().max(64).optional(),
  name: z.string().max(64).optional(),
  days: z.coerce.number().int().min(1).max(366).optional(),
})

/** A check box for each role that there is. */
export const roleFields = ({ parts, texts }: Pick<ConsoleCall<unknown>, 'parts' | 'texts'>, own: readonly string[]) =>
  [...rolesOf(parts.config.operators.roles).keys()].map((role) => ({
    ...{ kind: 'check', name: `role.${role}`, label: role, value: own.includes(role) },
    hint: texts.text(role in builtIn ? `operators.role.${role}` : 'operators.role.own'),
  }))

const builtIn = { viewer: true, support: true, operator: true, key_custodian: true, auditor: true }

/** The table of roles and their permissions. */
export const rolesSection = ({ parts, texts }: Pick<ConsoleCall<unknown>, 'parts' | 'texts'>): Section => {
  const roles = [...rolesOf(parts.config.operators.roles)]
  return {
    title: texts.text('operators.roles'),
    table: {
      columns: [texts.text('operators.permission'), ...roles.map(([role]) => role)],
      rows: Object.keys(permissions).map((permission) => [
        code(permission),
        ...roles.map(([, own]) => ((own as readonly string[]).includes(permission) ? { text: '✓' } : {})),
      ]),
    },
  }
}

/** The form for a new operator or token. */
export const operatorForm = (call: ConsoleCall<never>, what: 'new' | 'token', action: string) => ({
  view: 'form',
  title: call.texts.text(what === 'new' ? 'operators.new' : 'operators.new_token'),
  data: {
    crumb: { href: '/operators', title: call.texts.text('nav.operators') },
    ...{ action, cancel: '/operators', button: call.texts.text(what === 'new' ? 'operators.add' : 'operators.issue') },
    groups: [
      {
        fields: [
          {
            name: 'name',
            label: call.texts.text('operators.name'),
            hint: call.texts.text(`operators.name.hint.${what}`),
            required: true,
            isCode: true,
          },
          ...(what === 'token'
            ? [{ name: 'days', kind: 'number', label: call.texts.text('operators.days'), value: '90' }]
            : []),
        ],
      },
      { title: call.texts.text('operators.roles'), fields: roleFields(call, []) },
    ],
  },
})
