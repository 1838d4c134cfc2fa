import type { Principal } from '../attestation/ports.js'
import type { Asset } from '../interaction/pages/load-assets.js'
import type { Look } from '../interaction/pages/look.js'
import { english, type Messages } from '../interaction/languages/built-in.js'
import { createChooseLanguage } from '../interaction/languages/choose-language.js'
import { createWords } from '../interaction/languages/words.js'
import { compileTemplates, type Render } from '../interaction/pages/templates.js'
import type { Declaration } from './endpoint.js'
import { page, type Handler, type Reply } from './message.js'

/** What the demo page may show to everybody who opens it: of the demo configuration alone, on loopback alone. */
export interface Demo {
  /** A public client whose redirect URI is the issuer with a slash after it. */
  readonly clientId: string
  /** A public client of the device flow, which the page plays when there is one. */
  readonly deviceClientId: string
  /** The scopes that both ask for. */
  readonly scope: readonly string[]
  readonly username: string
  readonly password: string
  /** A confidential client with the grant `client_credentials`. */
  readonly service: { readonly clientId: string; readonly clientSecret: string }
  /** A confidential client with the grant of CIBA; absent: nothing is enrolled, so that nobody could approve. */
  readonly shop?: { readonly clientId: string; readonly clientSecret: string; readonly scope: readonly string[] }
  /** Whom a browser enrols as, with a secret that the terminal shows; absent: nothing is enrolled. */
  readonly enrolment?: Principal & {
    readonly kind: string
    /** What commands about it name. */
    readonly configFile: string
  }
}

export interface HomeOptions {
  readonly issuer: string
  /** What runs here: the product's name and version, which the demo alone tells. */
  readonly name: string
  readonly version: string
  readonly assetsPath: string
  readonly assets: ReadonlyMap<string, Asset>
  readonly look: Look
  readonly messages: Messages
  readonly demo?: Demo
  /** The person's own page; absent: there is none. */
  readonly accountUrl?: string
}

/**
 * `GET /`: says whose provider this is, and not by what it runs. With `demo` it tells that too, and is a client of this
 * provider, run by the browser.
 */
export const homeEndpoint = {
  path: '/',
  methods: ['GET'],
  body: 'none',
  errorTitle: 'error',
  limit: { byAddress: 'documents', byRefusals: false },
} as const satisfies Declaration

export const createHomeEndpoint = (options: HomeOptions): Handler => {
  const { issuer, demo, look, assetsPath, assets, messages } = options
  const renderIn = compileTemplates({ look, name: demo ? options.name : new URL(issuer).host, assetsPath, assets })
  if (demo) {
    const reply = page(200, renderDemo(renderIn(createWords('en', english)), options, demo), 'en')
    return () => reply
  }
  const choose = createChooseLanguage(messages.languages)
  const replies = new Map(
    messages.languages.map((language) => {
      const words = createWords(language, messages.texts.get(language) ?? new Map())
      return [language, page(200, renderIn(words)('home', { title: words.text('home.title'), issuer }), language)]
    }),
  )
  return (http) => {
    const uiLocales = http.query.values.get('ui_locales')
    return replies.get(choose({ uiLocales, acceptLanguage: http.header('accept-language') })) as Reply
  }
}

/** For people who are trying out the product: in English. */
const renderDemo = (render: Render, { issuer, version, accountUrl }: HomeOptions, demo: Demo): string =>
  render('demo', {
    title: 'Demo',
    issuer,
    version,
    accountUrl,
    demo: { ...demo, scope: demo.scope.join(' '), shopScope: demo.shop?.scope.join(' ') },
    curl: clientCredentialsCommand(issuer, demo.service),
    commands: demo.enrolment && principalCommands(demo.enrolment),
  })

/** The `curl` that gets a token by client credentials, safe to paste into a shell. */
export const clientCredentialsCommand = (issuer: string, service: Demo['service']): string => {
  const credentials = [service.clientId, service.clientSecret].map(encodeURIComponent).join(':')
  return ['curl', '-u', credentials, '-d', 'grant_type=client_credentials', `${issuer}/token`].map(shellWord).join(' ')
}

/** What a person types to let the demo's device in, and to put it out. */
const principalCommands = (enrolment: NonNullable<Demo['enrolment']>) => {
  const { kind, subject, principalId, principalType, configFile } = enrolment
  const whom = ['--subject', subject, '--principal-id', principalId, '--type', principalType, '--config', configFile]
  const command = (...words: readonly string[]): string =>
    ['npx', 'signet-idp', 'principals', ...words, ...whom].map(shellWord).join(' ')
  return { issue: command('issue', '--kind', kind), revoke: command('revoke'), restore: command('restore') }
}

const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
