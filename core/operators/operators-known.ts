import type { Config } from '../../config/schema.js'
import type { JsonValue } from '../json.js'
import type { AuditEvent } from '../observe/audit.js'
import { configuredOperators } from './configured.js'
import { credentialId } from './operator-record.js'

/**
 * The operators of a configuration that comes into force, with their credentials, for those who verify approvals from
 * the audit log alone. There is no event without operators.
 */
export const operatorsKnown = ({ operators, dual_control }: Config): readonly AuditEvent[] => {
  const people = configuredOperators(operators.people).map(({ name, roles, disabled, credentials }) => ({
    ...{ name, roles: [...roles], disabled },
    credentials: credentials.map((credential) => ({ id: credentialId(credential), ...credential })),
  }))
  if (people.length === 0) return []
  return [
    {
      event: 'operators.known',
      operators: JSON.parse(JSON.stringify(people)) as JsonValue,
      dual_control: { ...dual_control },
    },
  ]
}
