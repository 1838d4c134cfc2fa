import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Principal } from '../attestation/ports.js'
import { page, type Handler } from '../endpoints/message.js'
import { english } from '../interaction/languages/built-in.js'
import { createTranslator } from '../interaction/languages/translator.js'
import type { Asset } from '../interaction/pages/load-assets.js'
import type { Theme } from '../interaction/pages/theme.js'
import { compileTemplates } from '../interaction/pages/templates.js'
import { packageRoot, packageVersion } from '../package-root.js'

/** The scripts and styles of the page, which no other page loads. */
export const demoAssets = join(packageRoot, 'core/demo/assets')

/**
 * The data that the demo page may show to everyone who opens it. It belongs to the demo configuration alone, and is
 * served on loopback alone.
 */
export interface DemoPage {
  /** A public client whose redirect URI is the issuer followed by a slash. */
  readonly clientId: string
  /** A public client of the device flow, which the page plays if it exists. */
  readonly deviceClientId: string
  /** The scopes that both clients request. */
  readonly scope: readonly string[]
  readonly username: string
  readonly password: string
  /** A confidential client with the grant `client_credentials`. */
  readonly service: { readonly clientId: string; readonly clientSecret: string }
  /**
   * A confidential client with the CIBA grant. It is absent where nothing is enrolled, because no one could approve.
   */
  readonly shop?: { readonly clientId: string; readonly clientSecret: string; readonly scope: readonly string[] }
  /**
   * The principal that a browser enrols as, with a secret that the terminal shows. It is absent where nothing is
   * enrolled.
   */
  readonly enrolment?: Principal & {
    readonly kind: string
    /** The file that commands on the page name. */
    readonly configFile: string
  }
}

export interface DemoPageOptions {
  readonly issuer: string
  readonly assetsPath: string
  readonly assets: ReadonlyMap<string, Asset>
  readonly theme: Theme
  readonly demo: DemoPage
  /** The address of the person's own page. It is absent where there is none. */
  readonly accountUrl?: string
}

/**
 * Serves `GET /` of a demo, in English. The page says what runs here, and is a client of this provider that runs in
 * the browser.
 */
export const createDemoPage = ({ theme, assetsPath, assets, issuer, accountUrl, demo }: DemoPageOptions): Handler => {
  const template = readFileSync(join(packageRoot, 'core/demo/views/demo.eta'), 'utf8')
  const views = new Map([...theme.views, ['demo', template]])
  const render = compileTemplates({ theme: { ...theme, views }, name: 'Signet', assetsPath, assets })
  const html = render(createTranslator('en', english))('demo', {
    title: 'Demo',
    issuer,
    version: packageVersion,
    accountUrl,
    demo: { ...demo, scope: demo.scope.join(' '), shopScope: demo.shop?.scope.join(' ') },
    curl: clientCredentialsCommand(issuer, demo.service),
    commands: demo.enrolment && principalCommands(demo.enrolment),
  })
  const reply = page(200, html, 'en')
  return () => reply
}

/** Returns the `curl` command that gets a token by client credentials, safe to paste into a shell. */
export const clientCredentialsCommand = (issuer: string, service: DemoPage['service']): string => {
  const credentials = [service.clientId, service.clientSecret].map(encodeURIComponent).join(':')
  return ['curl', '-u', credentials, '-d', 'grant_type=client_credentials', `${issuer}/token`].map(shellWord).join(' ')
}

/** Returns the commands that issue a secret for the demo's device, and that revoke and restore the device. */
const principalCommands = (enrolment: NonNullable<DemoPage['enrolment']>) => {
  const { kind, subject, principalId, principalType, configFile } = enrolment
  const whom = ['--subject', subject, '--principal-id', principalId, '--type', principalType, '--config', configFile]
  const command = (...messages: readonly string[]): string =>
    ['npx', 'signet-idp', 'principals', ...messages, ...whom].map(shellWord).join(' ')
  return { issue: command('issue', '--kind', kind), revoke: command('revoke'), restore: command('restore') }
}

const shellWord = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
