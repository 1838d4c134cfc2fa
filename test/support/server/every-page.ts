import { createHomeEndpoint } from '../../../core/endpoints/home.js'
import type { EndpointRequest } from '../../../core/endpoints/message.js'
import { builtIn } from '../../../core/interaction/languages/built-in.js'
import { createPages } from '../../../core/interaction/pages/create-pages.js'
import { loadAssets } from '../../../core/interaction/pages/load-assets.js'
import { plainTheme } from '../../../core/interaction/pages/theme.js'
import { noParameters } from '../../../core/oauth/requests/params.js'
import { samplePages } from './sample-pages.js'

const scopes = [{ name: 'umlaute:größe', title: { de: 'Schuhgröße ändern' }, description: { de: 'Auch für Füße.' } }]
const assets = loadAssets()
const assetsPath = '/assets'

/** What `GET /` of no demo answers. */
const homeIn = async (language: string): Promise<string> => {
  const answer = createHomeEndpoint({
    ...{ issuer: 'https://op.bank.example', theme: plainTheme, messages: builtIn },
    ...{ assetsPath, assets },
  })
  const request = { query: noParameters, header: () => language } as unknown as EndpointRequest
  return String((await answer(request)).body)
}

/** Every page in every language, by its tag and then by a name: what people meet, served at `origin`. */
export const everyPage = async (origin: string): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> => {
  const pages = createPages({ assetsPath, assets, accountUrl: '/account', scopes })
  return new Map(
    await Promise.all(
      builtIn.languages.map(async (language) => {
        const samples = samplePages(pages.for({ uiLocales: language }), origin, `${origin}/assets/signet.svg`)
        return [language, new Map([...samples, ['home', await homeIn(language)]])] as const
      }),
    ),
  )
}
