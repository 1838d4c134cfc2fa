import { chromium, type BrowserContextOptions, type Page } from 'playwright-core'
import type { Asset } from '../../../core/interaction/pages/load-assets.js'
import { startPagesServer, type PagesServer } from './pages-server.js'

/** Shows one document after another in the same tab, which is cheaper than a context of its own for each. */
export type ShowInTab = <T>(
  html: string,
  theme: (page: Page) => Promise<T>,
) => Promise<{ seen: T; complaints: readonly string[] }>

export interface PagesBrowser extends AsyncDisposable {
  readonly server: PagesServer
  /** Shows the HTML in a browser context of its own; `complaints` is all that its console said. */
  show<T>(
    html: string,
    theme: (page: Page) => Promise<T>,
    context?: BrowserContextOptions,
  ): Promise<{ seen: T; complaints: string[] }>
  openTab(): Promise<ShowInTab>
}

const listenTo = (page: Page, complaints: string[]): void => {
  page.on('console', (message) => complaints.push(message.text()))
  page.on('pageerror', (error) => complaints.push(error.message))
}

let tabs = 0

/** Chromium beside a server of pages. */
export const openPagesBrowser = async (
  executablePath: string,
  assets?: ReadonlyMap<string, Asset>,
): Promise<PagesBrowser> => {
  const browser = await chromium.launch({ executablePath })
  const server = await startPagesServer(assets)
  return {
    server,
    show: async (html, theme, context = {}) => {
      server.pages.set('/page', html)
      server.posted.length = 0
      await using opened = await browser.newContext({ viewport: { width: 375, height: 740 }, ...context })
      const page = await opened.newPage()
      const complaints: string[] = []
      listenTo(page, complaints)
      await page.goto(`${server.origin}/page`)
      return { seen: await theme(page), complaints }
    },
    openTab: async () => {
      const path = `/tab/${String(tabs++)}`
      const page = await browser.newPage({ viewport: { width: 375, height: 740 } })
      const complaints: string[] = []
      listenTo(page, complaints)
      return async (html, theme) => {
        server.pages.set(path, html)
        await page.goto(server.origin + path)
        return { seen: await theme(page), complaints: complaints.splice(0) }
      }
    },
    [Symbol.asyncDispose]: async () => {
      await browser.close()
      await server[Symbol.asyncDispose]()
    },
  }
}
