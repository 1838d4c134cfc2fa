import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Salvaged } from '../../config/explain.js'
import { formatPath } from '../format-path.js'
import { describeReadFault, type Problem } from '../../config/problems.js'
import type { Config } from '../../config/schema.js'
import type { Messages } from '../interaction/languages/built-in.js'
import { findTemplateFaults } from '../interaction/pages/check-templates.js'
import type { PageKind } from '../interaction/pages/page.js'
import { loadAssets } from '../interaction/pages/load-assets.js'
import { createTheme, type Theme } from '../interaction/pages/theme.js'
import { meant, type Rule } from './rule.js'

/** Loads the pages of all endpoints. Only a deployment with templates of its own needs them for its checks. */
export type LoadPages = () => Promise<readonly PageKind<unknown>[]>

/**
 * Reads the section `ui` with the files that it names, relative to `directory`, and everything that is wrong with
 * them.
 */
export const readTheme = async (
  ui: Salvaged<Config>['ui'],
  directory: string,
  messages: Messages,
  loadPages: LoadPages,
): Promise<{ readonly theme: Theme; readonly problems: readonly Problem[] }> => {
  const read = (path: string): Buffer | string => {
    try {
      return readFileSync(resolve(directory, path))
    } catch (error) {
      return `the file ${path} ${describeReadFault(error)}`
    }
  }
  const list = (path: string): readonly string[] | string => {
    try {
      return readdirSync(resolve(directory, path))
        .filter((name) => !name.startsWith('.'))
        .map((name) => join(path, name))
    } catch (error) {
      return `the folder ${path} ${describeReadFault(error)}`
    }
  }
  const { theme, faults } = createTheme(ui ?? {}, { read, list })
  const inTemplates =
    theme.views.size === 0 || faults.length > 0
      ? []
      : findTemplateFaults(await loadPages(), theme, messages, loadAssets())
  const all = [...faults, ...inTemplates.map((message) => ({ path: ['templates'], message }))]
  return { theme, problems: all.map(({ path, message }) => ({ path: formatPath(['ui', ...path]), message })) }
}

/** Clients that are in the store are not known here. */
export const themesNameClients: Rule = ({ config, clients, warn, isValid }) => {
  if (!isValid('clients')) return
  const known = clients.flatMap((client) => client?.client_id ?? [])
  for (const id of Object.keys(config.ui?.clients ?? {}))
    if (!known.includes(id)) warn(['ui', 'clients', id], `no client of this file has this client_id${meant(id, known)}`)
}
