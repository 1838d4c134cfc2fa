import type { Pages, SpokenPages } from '../../interaction/pages/pages.js'
import type { EndpointRequest } from '../message.js'

/**
 * The pages in the caller's language, from `ui_locales` of the client's request or of this one, or from the browser.
 */
export const pagesFor = (pages: Pages, http: EndpointRequest, uiLocales?: string): SpokenPages =>
  pages.for({
    uiLocales: uiLocales ?? http.query.values.get('ui_locales'),
    acceptLanguage: http.header('accept-language'),
  })
