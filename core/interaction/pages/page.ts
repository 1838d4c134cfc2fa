import type { Translator } from '../languages/translator.js'
import type { ViewData } from './templates.js'
import type { DescribePermissions } from './permissions.js'
import { showClient, type ClientOnPage } from './client-on-page.js'

/** What the pages of one language are made from. */
export interface PageContext {
  readonly translator: Translator
  readonly describePermissions: DescribePermissions
  /** The URL of the person's own page. Absent when there is none. */
  readonly accountUrl?: string | undefined
}

/** One page: it turns what an endpoint knows into the data of its template. */
export interface PageKind<Page> {
  /** Its template is `views/{view}.eta`. */
  readonly view: string
  /**
   * Text that comes from clients and people is data, never markup: Eta escapes it, and links must go through
   * `webAddress`.
   */
  describe(page: Page, context: PageContext): ViewData
  /**
   * Sample states that together contain all forms of the page, by name, the plain one under ''. `signet check` and the
   * tests of all pages render them.
   */
  readonly samples: Readonly<Record<string, Page>>
}

export const definePage = <Page>(kind: PageKind<Page>): PageKind<Page> => kind

/** A form that the person submits to this issuer. */
export interface FormPage {
  /** The URL that the form is posted to, an absolute URL of this issuer. */
  readonly action: string
  /** The value of the hidden field `csrf`. */
  readonly csrf: string
}

/** A form of a request for which a client may wait. */
export interface ClientFormPage extends FormPage {
  /** Absent when no client waits. */
  readonly client?: ClientOnPage
  /**
   * The value of the hidden field `client`. It identifies the client in case nothing else does when the form comes
   * back.
   */
  readonly sealedClient?: string | undefined
}

/** Returns what the views of forms have in common. */
export const showForm = ({ action, csrf, sealedClient }: Omit<ClientFormPage, 'client'>) => ({
  action,
  csrf,
  sealedClient,
})

/** Returns the client of the page, and whose theme the page has. */
export const showClientOf = ({ client }: { readonly client?: ClientOnPage }) => ({
  client: client && showClient(client),
  clientId: client?.clientId,
})

/** The person who is signed in. */
export interface AccountOnPage {
  readonly name: string
  /** The URL where another person can sign in instead. Absent when the client asks for this account only. */
  readonly otherUrl?: string
}

export const showAccount = ({ name, otherUrl }: AccountOnPage) => ({
  account: name,
  initial: initialOf(name),
  otherUrl,
})

export const initialOf = (name: string): string => [...name.trim()][0]?.toUpperCase() ?? ''
