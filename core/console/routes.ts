import type { AdminDeclaration } from '../endpoints/admin/admin-endpoint.js'
import { consolePath, type ConsoleRoute } from './console-page.js'
import { approvalPages } from './pages/approvals.js'
import { auditPages } from './pages/audit.js'
import { peopleForms } from './pages/change-person.js'
import { clientForms, clientPages } from './pages/clients.js'
import { configurationPages } from './pages/configuration.js'
import { credentialPages } from './pages/credentials.js'
import { devicePages } from './pages/devices.js'
import { editClientPages } from './pages/edit-client.js'
import { keyPages } from './pages/keys.js'
import { operatorTokenPages } from './pages/operator-tokens.js'
import { operatorPages } from './pages/operators.js'
import { overviewPages } from './pages/overview.js'
import { peoplePages } from './pages/people.js'
import { registrationPages } from './pages/registrations.js'
import { signerPages } from './pages/signers.js'

/** Every page and form of the console. */
export const consoleRoutes: readonly ConsoleRoute[] = [
  ...overviewPages,
  ...keyPages,
  ...signerPages,
  ...editClientPages,
  ...clientPages,
  ...clientForms,
  ...peoplePages,
  ...peopleForms,
  ...devicePages,
  ...registrationPages,
  ...configurationPages,
  ...auditPages,
  ...operatorTokenPages,
  ...operatorPages,
  ...credentialPages,
  ...approvalPages,
]

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
