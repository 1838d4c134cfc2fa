import { ConfigurationError } from '../../../config/problems.js'
import { stringify } from 'yaml'
import { diffConfiguration, maskConfiguration } from '../../administration/configuration.js'
import { Problem } from '../../admin-api/problem.js'
import type { ApiParts } from '../../admin-api/api-route.js'
import type { Translator } from '../../interaction/languages/translator.js'
import { code, type Section } from '../cells.js'
import { defineForm, definePage } from '../console-page.js'

interface Fault {
  readonly path: string
  readonly message: string
}

const faultTable = (texts: Translator, faults: readonly Fault[]) => ({
  columns: [texts.text('configuration.path'), texts.text('configuration.problem')],
  rows: faults.map(({ path, message }) => [code(path), { text: message }]),
})

/** The file on the host, compared with what runs. */
const differences = async (parts: ApiParts, texts: Translator, mayReload: boolean): Promise<Section> => {
  const title = texts.text('configuration.file')
  try {
    const { changes, restart, warnings } = await diffConfiguration(parts.checked)
    const rows = Object.entries(changes).flatMap(([section, { added, removed, changed }]) =>
      Object.entries({ added, removed, changed }).flatMap(([how, names]) =>
        names.map((name) => [code(section), { text: texts.text(`configuration.${how}`) }, code(name)]),
      ),
    )
    const restarts = restart.map((path) => [
      code(path),
      { text: texts.text('configuration.restart'), tone: 'warn' as const },
      {},
    ])
    const isReloadable = rows.length > 0 && restart.length === 0
    return {
      title,
      lead: texts.text(rows.length + restarts.length === 0 ? 'configuration.same' : 'configuration.differs'),
      ...(rows.length + restarts.length > 0 && {
        table: {
          columns: [
            texts.text('configuration.section'),
            texts.text('configuration.change'),
            texts.text('configuration.name'),
          ],
          rows: [...rows, ...restarts],
        },
      }),
      ...(warnings.length > 0 && { pre: warnings.map(({ path, message }) => `${path}: ${message}`).join('\n') }),
      buttons:
        mayReload && isReloadable
          ? [{ action: '/configuration/reload', title: texts.text('configuration.reload') }]
          : [],
    }
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error
    return { title, lead: texts.text('configuration.invalid'), table: faultTable(texts, error.problems) }
  }
}

export const configurationPages = [
  definePage(
    { path: '/configuration', permission: 'configuration.read', section: 'configuration' },
    async ({ parts, texts, may }) => ({
      view: 'detail',
      title: texts.text('nav.configuration'),
      data: {
        lead: texts.text('configuration.lead'),
        sections: [
          await differences(parts, texts, may('configuration.reload')),
          ...(parts.checked.warnings.length === 0
            ? []
            : [{ title: texts.text('configuration.warnings'), table: faultTable(texts, parts.checked.warnings) }]),
          { title: texts.text('configuration.running'), pre: stringify(maskConfiguration(parts.config)) },
        ],
      },
    }),
  ),
  defineForm(
    { path: '/configuration/reload', permission: 'configuration.reload', section: 'configuration' },
    async ({ parts, by }) => {
      const result = await parts.running.reload({ force: false, by })
      if (result.outcome === 'refused')
        throw new Problem(400, 'invalid_configuration', 'Nothing was changed.', { errors: [...result.problems] })
      return {
        to: '/configuration',
        notice: result.outcome === 'reloaded' ? 'configuration_reloaded' : 'configuration_same',
      }
    },
  ),
]
