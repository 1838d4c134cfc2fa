import type { JsonObject } from '../json.js'
import {
  compileDetailsSchema,
  isClosedSchema,
  mayHave,
  namesType,
} from '../oauth/requests/authorization-details-schema.js'
import type { Rule } from './rule.js'

const findSchemaFault = (schema: JsonObject): string | undefined => {
  if (!isClosedSchema(schema))
    return 'must have type: object and additionalProperties: false: unknown members are refused (RFC 9396 §5)'
  if (namesType(schema))
    return 'must not name type in required or properties: it is the schema of a detail without its type'
  try {
    compileDetailsSchema(schema)
    return undefined
  } catch (error) {
    return `is not a JSON Schema (2020-12): ${error instanceof Error ? error.message : String(error)}`
  }
}

const types: Rule = ({ config: { authorization_details_types: configured }, registries, report, isValid }) => {
  if (!isValid('authorization_details_types')) return
  const seen = new Set<string>()
  for (const [index, one] of (configured ?? []).entries()) {
    if (one?.type !== undefined && seen.has(one.type))
      report(['authorization_details_types', index, 'type'], 'is the type of another one, too')
    if (one?.type !== undefined && registries.authorizationDetails.has(one.type))
      report(['authorization_details_types', index, 'type'], 'is the type of a plugin, too')
    if (one?.type !== undefined) seen.add(one.type)
    const fault = one?.schema === undefined ? undefined : findSchemaFault(one.schema as JsonObject)
    if (fault !== undefined) report(['authorization_details_types', index, 'schema'], fault)
    for (const [place, line] of (fault === undefined ? (one?.show ?? []) : []).entries())
      if (line?.path !== undefined && one?.schema !== undefined && !mayHave(one.schema as JsonObject, line.path))
        report(['authorization_details_types', index, 'show', place, 'path'], 'leads to nothing that the schema allows')
  }
}

const uses: Rule = ({ config, clients, registries, report, isValid }) => {
  if (!isValid('authorization_details_types', 'plugins')) return
  const configured = (config.authorization_details_types ?? []).map((one) => one?.type)
  const known = [...configured, ...registries.authorizationDetails.keys()]
  for (const [index, client] of clients.entries())
    for (const [place, type] of (client?.authorization_details_types ?? []).entries())
      if (!known.includes(type))
        report(
          ['clients', index, 'authorization_details_types', place],
          'is none of the authorization_details_types of the configuration, nor of a plugin',
        )
}

export const authorizationDetailsRules: readonly Rule[] = [types, uses]
