import { afterAll, beforeAll } from 'vitest'
import { createPages } from '../../../core/interaction/pages/create-pages.js'
import { loadAssets } from '../../../core/interaction/pages/load-assets.js'
import { describeWith } from '../services/describe-with.js'
import { openPagesBrowser, type PagesBrowser } from './pages-browser.js'

/** The pages in Signet's own theme. */
export const pages = createPages({ assetsPath: '/assets', assets: loadAssets() })

/** Where the server of the pages takes their forms. */
export const action = '/post'

/** `describe` for tests that show pages in Chromium. Only tests may use the browser, which is opened before them. */
export const describePages = (title: string, tests: (browser: Omit<PagesBrowser, symbol>) => void): void => {
  describeWith('chromium', title, (executablePath) => {
    let opened: PagesBrowser
    beforeAll(async () => {
      opened = await openPagesBrowser(executablePath)
    })
    afterAll(() => opened[Symbol.asyncDispose]())
    tests({
      get server() {
        return opened.server
      },
      show: (html, look, context) => opened.show(html, look, context),
      openTab: () => opened.openTab(),
    })
  })
}
