import type { Browser, Page } from 'playwright-core'
import { OperatorBrowser } from './operator-browser.js'
import { startOperatorServer } from './operator-server.js'

/** The findings of a visit, and the complaints of the browser. */
export interface Visited<Found> {
  readonly faults: Found
  readonly complaints: readonly string[]
}

export interface ConsoleVisit extends AsyncDisposable {
  /** Opens a page of the console as an operator with every permission. `{sub}` stands for a person. */
  open<Found>(
    path: string,
    locale: string,
    look: (page: Page) => Promise<Found>,
    options?: { readonly scripts?: boolean },
  ): Promise<Visited<Found>>
}

/** A server with records for every page, and an operator who is signed in. */
export const openConsoleVisit = async (browser: Browser): Promise<ConsoleVisit> => {
  const server = await startOperatorServer({
    configure: (written) => ({ ...written, registration: { mode: 'initial_access_token' } }),
  })
  const all = await server.as('operator', 'key_custodian')
  const shop = { client_id: 'shop', client_name: 'Shop', redirect_uris: ['https://shop.example/cb'] }
  await all('/clients', { method: 'POST', body: shop })
  await all('/clients', { method: 'POST', body: { ...shop, client_id: 'mobile', client_name: 'تطبيق الجوال' } })
  await all('/initial-access-tokens', { method: 'POST', body: { note: 'Example Ltd' } })
  const person = await all('/people', {
    ...{ method: 'POST', body: { username: 'dora', claims: { name: 'Dora Example', email: 'dora@example.com' } } },
  })
  const { sub } = person.body as { sub: string }
  await all('/operators', { method: 'POST', body: { name: 'olga', roles: ['operator', 'key_custodian'] } })
  const operator = new OperatorBrowser(server.admin)
  await operator.useLink(all, 'olga')
  const cookies = [...operator.cookies].map(([name, value]) => ({ name, value, url: operator.origin }))
  return {
    async open(path, locale, look, { scripts = true } = {}) {
      await using context = await browser.newContext({ locale, javaScriptEnabled: scripts })
      await context.addCookies(cookies)
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      page.on('pageerror', (error) => complaints.push(error.message))
      await page.goto(`${operator.origin}/console${path.replace('{sub}', sub)}`)
      return { faults: await look(page), complaints }
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
