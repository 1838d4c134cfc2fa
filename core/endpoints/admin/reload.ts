import { z } from 'zod'
import type { JsonObject } from '../../json.js'
import { OAuthError } from '../../oauth/errors.js'
import { readActedBy, type ActedBy } from '../../observe/acted-by.js'
import type { EndpointRequest, Handler } from '../message.js'
import { answeringJson, readInput, type AdminAnswer, type AdminDeclaration } from './admin-endpoint.js'

export interface ReloadRequest {
  /** Whether to remove keys although tokens that they signed may still be valid. */
  readonly force: boolean
  readonly by: ActedBy
}

/** A problem with its path in the configuration. */
interface Fault {
  readonly path: string
  readonly message: string
}

export type ReloadResult =
  | { readonly outcome: 'unchanged'; readonly warnings: readonly Fault[] }
  | {
      readonly outcome: 'reloaded'
      /** The changes, by section of the configuration. */
      readonly changes: JsonObject
      readonly forced: readonly Fault[]
      readonly warnings: readonly Fault[]
    }
  /** Nothing was changed. */
  | { readonly outcome: 'refused'; readonly problems: readonly Fault[] }

/**
 * Reloads the configuration, one reload at a time. Throws `Unavailable` when the store or the audit log is down, and
 * then nothing was changed.
 */
export type Reload = (request: ReloadRequest) => Promise<ReloadResult>

/** A member by which the caller identifies itself. */
const said = z.string().optional()

const problems = z.array(z.object({ path: z.string(), message: z.string() })).readonly()

/**
 * `POST /reload`: 200 with the changes; 400 with every problem and its path; 409 when some of several processes, or
 * this listener's certificate, still have the old configuration. The caller identifies itself in the form.
 */
export const reloadEndpoint = {
  path: '/reload',
  methods: ['POST'],
  body: 'form',
  permission: 'configuration.reload',
  // Each reload may open every key again.
  limit: 120,
  event: 'configuration.loaded',
  input: z
    .strictObject({
      force: z.enum(['true', 'false']).default('false'),
      via: said,
      os_user: said,
      sudo_user: said,
      host: said,
      address: said,
    })
    .transform(({ force, ...by }) => ({ force: force === 'true', by })),
  output: z.union([
    z.strictObject({
      status: z.literal('reloaded'),
      changes: z.record(z.string(), z.unknown()).readonly(),
      forced: problems,
      warnings: problems.optional(),
    }),
    z.strictObject({ status: z.literal('unchanged'), warnings: problems.optional() }),
    z.strictObject({ status: z.literal('refused'), problems }),
    z.strictObject({
      status: z.literal('partial'),
      reloaded: z.array(z.int()).optional(),
      not_reloaded: z.array(z.int()).optional(),
      problems,
    }),
  ]),
} as const satisfies AdminDeclaration

type ReloadAnswer = AdminAnswer<z.output<typeof reloadEndpoint.output>>

const answerOf = (result: ReloadResult): ReloadAnswer => {
  if (result.outcome === 'refused') return { status: 400, data: { status: 'refused', problems: result.problems } }
  const warned = result.warnings.length > 0 && { warnings: result.warnings }
  if (result.outcome === 'unchanged') return { data: { status: 'unchanged', ...warned } }
  const { changes, forced } = result
  return { data: { status: 'reloaded', changes, forced, ...warned } }
}

/** Reads the form of a reload. Throws `invalid_request`. */
export const readReloadRequest = (request: EndpointRequest): ReloadRequest => {
  const { force, by: claimed } = readInput(reloadEndpoint, request)
  const by = readActedBy(claimed, request.address)
  if (by === undefined)
    throw new OAuthError('invalid_request', 'The members that name the caller are not what POST /reload takes.')
  return { force, by }
}

export const createReloadEndpoint = (reload: Reload): Handler =>
  answeringJson(reloadEndpoint, async (_, request) => answerOf(await reload(readReloadRequest(request))))
