import { definePage } from '../console-page.js'

export const overviewPages = [
  definePage({ path: '', permission: 'service.read', section: 'overview' }, ({ texts }) =>
    Promise.resolve({ view: 'overview', title: texts.text('nav.overview'), data: {} }),
  ),
]
