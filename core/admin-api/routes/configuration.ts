import { z } from 'zod'
import { diffConfiguration, maskConfiguration } from '../../administration/configuration.js'
import { etagOf } from '../../administration/etag.js'
import { ConfigurationError } from '../../../config/problems.js'
import { build } from '../../package-root.js'
import { defineApiRoute } from '../api-route.js'
import { Problem } from '../problem.js'

const faults = z.array(z.object({ path: z.string(), message: z.string() }))

const tag = 'Service'

const differences = z.object({
  changes: z.record(
    z.string(),
    z.object({ added: z.array(z.string()), removed: z.array(z.string()), changed: z.array(z.string()) }),
  ),
  /** The paths of what needs a restart. */
  restart: z.array(z.string()),
  warnings: faults,
})

export const configurationRoutes = [
  defineApiRoute(
    {
      ...{
        path: '/configuration',
        method: 'GET',
        permission: 'configuration.read',
        operation: 'readConfiguration',
        tag,
      },
      summary: 'Shows the configuration in force with its defaults, without secrets.',
      output: z.record(z.string(), z.unknown()),
    },
    ({ parts }) => {
      const data = maskConfiguration(parts.config)
      return Promise.resolve({ data, etag: etagOf(data) })
    },
  ),
  defineApiRoute(
    {
      ...{ path: '/configuration/diff', method: 'GET', permission: 'configuration.read' },
      ...{ operation: 'diffConfiguration', tag },
      summary: 'Compares the file on the host with what runs. 400 with every problem when the file is not valid.',
      output: differences,
    },
    async ({ parts }) => {
      try {
        const { changes, restart, warnings } = await diffConfiguration(parts.checked)
        return { data: { changes, restart: [...restart], warnings: [...warnings] } }
      } catch (error) {
        if (!(error instanceof ConfigurationError)) throw error
        throw new Problem(400, 'invalid_configuration', 'The file is not valid.', { errors: [...error.problems] })
      }
    },
  ),
  defineApiRoute(
    {
      ...{ path: '/configuration/reload', method: 'POST', permission: 'configuration.reload' },
      ...{ operation: 'reloadConfiguration', tag },
      summary: 'Reloads the file on the host of the process that answers; see `signet reload` for workers.',
      body: z.strictObject({ force: z.boolean().default(false) }),
      output: z.object({
        status: z.enum(['unchanged', 'reloaded']),
        changes: z.record(z.string(), z.unknown()),
        warnings: faults,
      }),
    },
    async ({ parts, by, body }) => {
      const result = await parts.running.reload({ force: body.force, by })
      if (result.outcome === 'refused')
        throw new Problem(400, 'invalid_configuration', 'Nothing was changed.', { errors: [...result.problems] })
      const changes = result.outcome === 'reloaded' ? result.changes : {}
      return { data: { status: result.outcome, changes, warnings: [...result.warnings] } }
    },
  ),
  defineApiRoute(
    {
      ...{ path: '/components', method: 'GET', permission: 'service.read', operation: 'listComponents', tag },
      summary: 'Shows what must work before the process is sent requests.',
      output: z.object({
        ...{ ready: z.boolean(), version: z.string(), commit: z.string().optional() },
        components: z.record(
          z.string(),
          z.object({ status: z.enum(['starting', 'up', 'down', 'draining']), message: z.string().optional() }),
        ),
      }),
    },
    ({ parts }) => {
      const { ready, components } = parts.running.readiness()
      return Promise.resolve({ data: { ready, ...build, components: { ...components } } })
    },
  ),
]
