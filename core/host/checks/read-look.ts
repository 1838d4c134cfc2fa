import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Salvaged } from '../../../config/explain.js'
import { describeReadFault, formatPath, type Problem } from '../../../config/problems.js'
import type { Config } from '../../../config/schema.js'
import { createLook, type Look } from '../../interaction/pages/look.js'
import { meant, type Rule } from './rule.js'

/** The section `ui` with the files that it names, relative to `directory`, and all that is wrong with them. */
export const readLook = (
  ui: Salvaged<Config>['ui'],
  directory: string,
): { readonly look: Look; readonly problems: readonly Problem[] } => {
  const read = (path: string): Buffer | string => {
    try {
      return readFileSync(resolve(directory, path))
    } catch (error) {
      return `the file ${path} ${describeReadFault(error)}`
    }
  }
  const { look, faults } = createLook(ui ?? {}, read)
  return { look, problems: faults.map(({ path, message }) => ({ path: formatPath(['ui', ...path]), message })) }
}

/** Clients of the store are not known here. */
export const looksAreOfClients: Rule = ({ config, clients, warn, isWhole }) => {
  if (!isWhole('clients')) return
  const known = clients.flatMap((client) => client?.client_id ?? [])
  for (const id of Object.keys(config.ui?.clients ?? {}))
    if (!known.includes(id)) warn(['ui', 'clients', id], `no client of this file has this client_id${meant(id, known)}`)
}
