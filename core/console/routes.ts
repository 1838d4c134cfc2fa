import type { AdminDeclaration } from '../endpoints/admin/admin-endpoint.js'
import { consolePath, type ConsoleRoute } from './console-page.js'
import { clientPages } from './pages/clients.js'
import { credentialPages } from './pages/credentials.js'
import { overviewPages } from './pages/overview.js'

/** Every page and form of the console. */
export const consoleRoutes: readonly ConsoleRoute[] = [...overviewPages, ...clientPages, ...credentialPages]

/** Requests per minute and address. Operators share the address of their proxy. */
const perMinute = 3000

/** The declaration of a page or form for the admin listener. */
export const declareConsoleRoute = ({ path, method, permission }: ConsoleRoute) =>
  ({
    path: `${consolePath}${path}`,
    methods: [method],
    body: method === 'POST' ? 'page-form' : 'none',
    ...{ permission, limit: perMinute, encodedIds: true, errorTitle: 'error' },
    ...(method === 'POST' && { event: 'administration' as const }),
  }) satisfies AdminDeclaration
