import { errorPage } from '../interaction/pages/error-page.js'
import type { PageKind } from '../interaction/pages/page.js'

/**
 * Loads every page that this service can show, as the endpoints declare them. All endpoints are loaded with it, so
 * commands that need no page do not wait for them.
 */
export const loadPages = async (): Promise<readonly PageKind<unknown>[]> => {
  const { declarations } = await import('./endpoint-list.js')
  return [...new Set([errorPage, ...declarations.flatMap(({ pages = [] }) => pages)])]
}
