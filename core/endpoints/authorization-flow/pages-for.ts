import type { Pages, SpokenPages } from '../../interaction/pages/pages.js'
import type { EndpointRequest } from '../message.js'

/** The pages in the language of who asks: by the `ui_locales` of the client's request, or of this one, and by the browser. */
export const pagesFor = (pages: Pages, http: EndpointRequest, uiLocales?: string): SpokenPages =>
  pages.for({
    uiLocales: uiLocales ?? http.query.values.get('ui_locales'),
    acceptLanguage: http.header('accept-language'),
  })
