import { loadPages } from '../../../core/host/load-pages.js'
import { builtIn } from '../../../core/interaction/languages/built-in.js'
import { createPages } from '../../../core/interaction/pages/create-pages.js'
import { loadAssets } from '../../../core/interaction/pages/load-assets.js'
import { samplePages } from './sample-pages.js'

const scopes = [{ name: 'umlaute:größe', title: { de: 'Schuhgröße ändern' }, description: { de: 'Auch für Füße.' } }]

/** Every page in every language, by its tag and then by a name: what people meet, served at `origin`. */
export const everyPage = async (origin: string): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> => {
  const kinds = await loadPages()
  const pages = createPages({ assetsPath: '/assets', assets: loadAssets(), accountUrl: '/account', scopes })
  const samplesIn = (language: string) =>
    samplePages(kinds, pages.for({ uiLocales: language }), origin, `${origin}/assets/signet.svg`)
  return new Map(builtIn.languages.map((language) => [language, samplesIn(language)]))
}
