import type { Asset } from '../interaction/assets.js'
import { compileTemplates } from '../interaction/pages/templates.js'
import { page, type Endpoint } from './message.js'

/** What the demo page may show to everybody who opens it: of the demo configuration alone, on loopback alone. */
export interface Demo {
  /** A public client whose redirect URI is the issuer with a slash after it. */
  readonly clientId: string
  /** The scopes that it asks for. */
  readonly scope: readonly string[]
  readonly username: string
  readonly password: string
  /** A confidential client with the grant `client_credentials`. */
  readonly service: { readonly clientId: string; readonly clientSecret: string }
}

export interface HomeOptions {
  readonly issuer: string
  /** What runs here: the product's name and version. */
  readonly name: string
  readonly version: string
  readonly issuerName?: string
  readonly assetsPath: string
  readonly assets: ReadonlyMap<string, Asset>
  readonly demo?: Demo
}

/** `GET /`: says what runs here. With `demo` it is also a client of this provider, run by the browser. */
export const createHome = (options: HomeOptions): Endpoint => {
  const { issuer, name, version, demo, assetsPath, assets } = options
  const render = compileTemplates({ brand: options.issuerName ?? name, assetsPath, assets })
  const html = demo
    ? render('demo', {
        title: 'Demo',
        issuer,
        version,
        demo: { ...demo, scope: demo.scope.join(' ') },
        curl: clientCredentialsCommand(issuer, demo.service),
      })
    : render('home', { title: 'OpenID Provider', issuer, name, version })
  const reply = page(200, html)
  return () => reply
}

/** The `curl` that gets a token by client credentials, safe to paste into a shell. */
export const clientCredentialsCommand = (issuer: string, service: Demo['service']): string => {
  const credentials = [service.clientId, service.clientSecret].map(encodeURIComponent).join(':')
  return ['curl', '-u', credentials, '-d', 'grant_type=client_credentials', `${issuer}/token`].map(shellWord).join(' ')
}

const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
