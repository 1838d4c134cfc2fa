import { checkConfiguration } from '../../../core/checks/check-configuration.js'
import { loadPages } from '../../../core/host/load-pages.js'
import { folderWith, minimal, plugins } from './config-files.js'
import { reportOf } from './problems-of.js'

const svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 4 1"><path d="M0 0h4v1H0z"/></svg>'
const files = {
  'brand/logo.svg': svg,
  'brand/dark.svg': svg.replace('4 1', '8 2'),
  'brand/extra.css': 'h1 { color: red }',
}

/** What the configuration with this section makes of the pages, read as `signet check` reads it. */
export const checkLook = async (ui: string, more: Readonly<Record<string, string>> = {}) => {
  const folder = await folderWith({ 'signet.yaml': `${minimal(plugins)}${ui}\n`, ...files, ...more })
  return checkConfiguration(`${folder}/signet.yaml`, {}, loadPages)
}

/** What it reports, each with its path. */
export const problemsOf = (ui: string, more?: Readonly<Record<string, string>>): Promise<string[]> =>
  reportOf(checkLook(ui, more))
