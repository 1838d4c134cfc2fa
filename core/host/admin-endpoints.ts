import type { AdminDeclaration, AdminEndpoint, OperatorHandler } from '../endpoints/admin/admin-endpoint.js'
import { createHandoffAnswers, handoffEndpoints } from '../endpoints/admin/handoff-answer.js'
import { answerLive, createReadyEndpoint, liveEndpoint, readyEndpoint } from '../endpoints/admin/health.js'
import { createMetricsEndpoint, metricsEndpoint } from '../endpoints/admin/metrics.js'
import { reloadEndpoint } from '../endpoints/admin/reload.js'
import type { Handler } from '../endpoints/message.js'
import { createApiHandler } from '../admin-api/api-handler.js'
import { apiRoutes, declareApiRoute } from '../admin-api/routes.js'
import { createHandoffs } from '../interaction/handoffs.js'
import { createConsoleHandler } from '../console/console-handler.js'
import { consolePath } from '../console/console-page.js'
import { loadConsoleAssets } from '../console/documents.js'
import { consoleRoutes, declareConsoleRoute } from '../console/routes.js'
import { signInEndpoints } from '../console/sign-in.js'
import { createAssetEndpoint } from '../endpoints/assets.js'
import type { Readiness } from '../observe/health.js'
import type { Metrics } from '../observe/metrics.js'
import { tokens, type Resolve } from './injection-tokens.js'

/**
 * The parts that every process with an admin listener has, even while it waits for its stores or only supervises
 * workers.
 */
export interface ProcessParts {
  readonly readiness: Pick<Readiness, 'report'>
  readonly metrics: Pick<Metrics, 'expose'>
  readonly reload: Handler
}

type Row<Parts> = readonly [declaration: AdminDeclaration, create: (parts: Parts) => OperatorHandler]

/** The files of the console are served by the process that has the listener. */
const consoleAssetEndpoint = {
  path: `${consolePath}/assets/{name}`,
  methods: ['GET'],
  body: 'none',
  permission: 'none',
  limit: 'none',
} as const satisfies AdminDeclaration

const processRoutes: readonly Row<ProcessParts>[] = [
  [liveEndpoint, () => answerLive],
  [readyEndpoint, ({ readiness }) => createReadyEndpoint(readiness)],
  [metricsEndpoint, ({ metrics }) => createMetricsEndpoint(metrics)],
  [reloadEndpoint, ({ reload }) => reload],
  [consoleAssetEndpoint, () => createAssetEndpoint(loadConsoleAssets())],
]

const handoffAnswers = (get: Resolve) => {
  const { clock_tolerance_secs: toleranceSeconds, default_audience: defaultAudience } = get(tokens.config)
  const { handoffs, interactions } = get(tokens.collections)
  return createHandoffAnswers({
    ...{ interactions, toleranceSeconds, defaultAudience },
    handoffs: createHandoffs(handoffs),
    accounts: get(tokens.registries).accounts,
    clients: get(tokens.clients),
    detailsTypes: get(tokens.detailsTypes),
    audit: get(tokens.audit),
    clock: get(tokens.clock),
  })
}

const typedKeys = <Name extends string>(record: Readonly<Record<Name, unknown>>): readonly Name[] =>
  Object.keys(record) as Name[]

/** The routes that need a running service. The process above workers forwards each of them to a worker. */
const serviceRoutes: readonly Row<Resolve>[] = [
  [handoffEndpoints['sign-in'], (get) => handoffAnswers(get)['sign-in']],
  [handoffEndpoints.consent, (get) => handoffAnswers(get).consent],
  [handoffEndpoints.refuse, (get) => handoffAnswers(get).refuse],
  ...apiRoutes.map((route): Row<Resolve> => [
    declareApiRoute(route),
    (get) => createApiHandler(route, get(tokens.apiParts)),
  ]),
  ...typedKeys(signInEndpoints).map((name): Row<Resolve> => [signInEndpoints[name], (get) => get(tokens.signIn)[name]]),
  ...consoleRoutes.map((route): Row<Resolve> => [
    declareConsoleRoute(route),
    (get) => createConsoleHandler(route, get(tokens.console)),
  ]),
]

/** Every route of the admin listener; `service` answers what only a running service can. */
export const createAdminEndpoints = (
  parts: ProcessParts,
  service: (declaration: AdminDeclaration) => OperatorHandler,
): readonly AdminEndpoint[] => [
  ...processRoutes.map(([declaration, create]) => ({ ...declaration, answer: create(parts) })),
  ...serviceRoutes.map(([declaration]) => ({ ...declaration, answer: service(declaration) })),
]

/** The answers of a running service, by declaration. */
export const createServiceAnswers = (get: Resolve): ((declaration: AdminDeclaration) => OperatorHandler) => {
  const answers = new Map(serviceRoutes.map(([declaration, create]) => [declaration, create(get)]))
  return (declaration) => {
    const answer = answers.get(declaration)
    if (answer === undefined) throw new Error(`no answer for ${declaration.path}`)
    return answer
  }
}
