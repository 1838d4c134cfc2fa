import { z } from 'zod'
import type { AdminDeclaration } from '../endpoints/admin/admin-endpoint.js'
import { apiPath, defineApiRoute, type ApiRoute } from './api-route.js'
import { createOpenApi } from './openapi.js'
import { approvalRoutes } from './routes/approvals.js'
import { auditRoutes } from './routes/audit.js'
import { clientRoutes } from './routes/clients.js'
import { configurationRoutes } from './routes/configuration.js'
import { figureRoutes } from './routes/figures.js'
import { keyRoutes } from './routes/keys.js'
import { operatorPeopleRoutes } from './routes/operator-people.js'
import { operatorRoutes } from './routes/operators.js'
import { peopleActionRoutes } from './routes/people-actions.js'
import { peopleRecordRoutes } from './routes/people-records.js'
import { peopleRoutes } from './routes/people.js'
import { principalRoutes } from './routes/principals.js'
import { registrationRoutes } from './routes/registrations.js'

const described: readonly ApiRoute[] = [
  ...clientRoutes,
  ...peopleRoutes,
  ...peopleActionRoutes,
  ...peopleRecordRoutes,
  ...principalRoutes,
  ...registrationRoutes,
  ...keyRoutes,
  ...operatorRoutes,
  ...operatorPeopleRoutes,
  ...approvalRoutes,
  ...configurationRoutes,
  ...auditRoutes,
  ...figureRoutes,
]

/** The description of the API is made once, when it is first asked for. */
let description: ReturnType<typeof createOpenApi> | undefined

/** Returns the description of the API (OpenAPI 3.1). `base` is the path of `admin.base_url`. */
export const openApi = (base = '') => ({
  ...(description ??= createOpenApi(described)),
  servers: [{ url: `${base}${apiPath}` }],
})

/** Every route of the API. */
export const apiRoutes: readonly ApiRoute[] = [
  ...described,
  defineApiRoute(
    {
      ...{ path: '/openapi.json', method: 'GET', permission: 'operator', operation: 'readOpenApi', tag: 'Service' },
      summary: 'Describes the API.',
      output: z.looseObject({}),
    },
    ({ parts }) => Promise.resolve({ data: openApi(parts.base) }),
  ),
]

/** Requests per minute and address. Operators share the address of their proxy. */
const perMinute = 3000

/** The declaration of a route for the admin listener. */
export const declareApiRoute = ({ path, method, permission, body }: ApiRoute) =>
  ({
    path: `${apiPath}${path}`,
    methods: [method],
    body: body === undefined ? 'none' : 'json',
    ...{ permission, limit: perMinute, problems: true, encodedIds: true },
    ...(method !== 'GET' && { event: 'administration' as const }),
  }) satisfies AdminDeclaration
